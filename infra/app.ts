import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { MinutehandStack } from "./minutehand-stack.ts";

/**
 * The app with its options from the CDK's context:
 * - `-c api=none` leaves the HTTP API out.
 * - `-c removable=true` deletes the data with the stack.
 * - `-c alarmTopicArn=…` names the SNS topic that the alarms notify.
 * - `-c callbackHosts=…,…` names the private hosts that the topic `callbacks` may call.
 * - `-c stackName=…` and `-c prefix=…` name the stack and its queues. With other names, an account can have a second stack.
 */
const app = new App();
const contextOf = (name: string) => app.node.tryGetContext(name);

function readFlag(name: string): boolean {
  const value = String(contextOf(name) ?? false);
  if (value !== "true" && value !== "false") {
    throw new Error(`-c ${name} must be true or false, got "${value}"`);
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
