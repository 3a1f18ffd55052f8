import { join } from "node:path";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import { MinutehandStack } from "./minutehand-stack.ts";

/**
 * The app. `-c api=none`: no HTTP API. `-c removable=true`: the data goes with the stack. `-c alarmTopicArn=…`: the SNS topic of the
 * alarms. `-c callbackHosts=…,…`: private hosts that the topic `callbacks` may call. `-c pythonTarget=true`: a topic whose jobs a function in Python runs. `-c stackName=… -c prefix=…`: names, for a second
 * stack.
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
  pythonTarget: readFlag("pythonTarget"),
  callbackHosts: contextOf("callbackHosts")?.split(","),
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
