import { App, Stack } from "aws-cdk-lib";
import { DelayQueue } from "../../infra/cdk.ts";

new DelayQueue(new Stack(new App(), "Generated"), "Jobs", { topics: { work: { consumer: "pull" } } });
