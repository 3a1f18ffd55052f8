import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { MinutehandStack } from "./minutehand-stack.ts";

/**
 * The app, by context: `-c api=none` leaves the HTTP API out, `-c removable=true` lets a test stack take its
 * data with it, `-c alarmTopicArn=…` says whom the alarms notify, `-c callbackHosts=…,…` which private hosts
 * `callbacks` may call. `-c stackName=…` and `-c prefix=…` name the stack and its queues, so that a second one fits into the
 * account.
 */
const app = new App();
const contextOf = (name: string) => app.node.tryGetContext(name);

function readFlag(name: string): boolean {
  const value = String(contextOf(name) ?? false);
  if (value !== "true" && value !== "false") {
    throw new Error(`-c ${name} must be a flag, is "${value}"; allowed: true, false`);
  }
  return value === "true";
}

new MinutehandStack(app, "Minutehand", {
  description: "Minutehand, a serverless delay queue",
  topicsFile: join(import.meta.dirname, "topics.json"),
  stackName: contextOf("stackName"),
  prefix: contextOf("prefix"),
  removable: readFlag("removable"),
  api: { auth: contextOf("api") ?? "iam" },
  alarmTopicArn: contextOf("alarmTopicArn"),
  callbackHosts: contextOf("callbackHosts")?.split(","),
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
