import { App, Stack } from "aws-cdk-lib";
import { ManagedPolicy } from "aws-cdk-lib/aws-iam";
import { EventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { expect, it } from "vitest";
import { EventSourceControl } from "../../infra/event-source-control.ts";
import { someFunction } from "./shop-stack.ts";

/** A control with event sources of aliases, and of functions. */
function controlOf(aliases: number, functions: number) {
  const stack = new Stack(new App(), "Shop");
  const consumer = someFunction(stack, "Mail");
  const control = new EventSourceControl(stack, [someFunction(stack, "Tick")], []);
  const add = (isQualified: boolean, i: number) => {
    const eventSourceArn = `arn:aws:sqs:eu-west-1:123456789012:${i}`;
    const mapping = new EventSourceMapping(stack, `${isQualified}${i}`, { target: consumer, eventSourceArn });
    control.add(`${i}`, mapping, consumer, isQualified);
  };
  for (let i = 0; i < aliases; i++) add(true, i);
  for (let i = 0; i < functions; i++) add(false, i);
  const policies = () => stack.node.children.filter((child) => child instanceof ManagedPolicy).length;
  return { control, add, policies };
}

it("further consumers add as many policies as the control says, whatever policies hold already", () => {
  for (const [aliases, functions] of [
    [0, 0],
    [0, 24],
    [1, 0],
    [15, 0],
    [15, 1],
    [16, 0],
    [17, 3],
  ] as const)
    for (const count of [0, 1, 2, 22, 23, 24, 25]) {
      const { control, add, policies } = controlOf(aliases, functions);
      const told = policies() + control.furtherPolicies(count);
      for (let i = 0; i < count; i++) add(false, functions + i);
      expect({ aliases, functions, count, policies: policies() }).toMatchObject({ policies: told });
    }
});
