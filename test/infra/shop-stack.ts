import { App, Duration, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { DelayQueue } from "../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../infra/props.ts";
import type { StackTemplate } from "./resources.ts";

/** A user's own stack with a delay queue in it. */
export function shopWith(
  props: DelayQueueProps = { topics: { "order-timeout": {}, work: { consumer: "pull" } } },
): { stack: Stack; queue: DelayQueue } {
  const stack = new Stack(new App(), "Shop");
  return { stack, queue: new DelayQueue(stack, "Jobs", props) };
}

export function someFunction(scope: Stack, id: string, timeout = Duration.seconds(40)): LambdaFunction {
  const code = Code.fromInline("exports.handler = async () => {}");
  return new LambdaFunction(scope, id, {
    code,
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    timeout,
  });
}

export function templateOf(stack: Stack): StackTemplate {
  return Template.fromStack(stack).toJSON() as StackTemplate;
}
