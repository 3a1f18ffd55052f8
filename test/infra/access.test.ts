import { describe, expect, it } from "vitest";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";
import { resourcesOf, type StackTemplate } from "./stack-template.ts";

/** What a function's role may do, as `action resource's id`. */
function rightsOf(template: StackTemplate, name: string): string[] {
  const policies = resourcesOf(template, "AWS::IAM::Policy").filter(([id]) => id.startsWith(name));
  const rights = policies.flatMap(([, { Properties }]) => {
    const { Statement } = Properties.PolicyDocument as {
      Statement: { Action: unknown; Resource: unknown }[];
    };
    return Statement.flatMap(({ Action, Resource }) =>
      [Action].flat().flatMap((action) =>
        [Resource].flat().map((resource) => {
          const id = (resource as { "Fn::GetAtt": string[] })["Fn::GetAtt"][0] ?? "";
          return `${action} ${id.replace(/[0-9A-F]{8}$/, "")}`;
        }),
      ),
    );
  });
  return rights.sort();
}

const ON_JOBS = [
  "BatchGetItem",
  "ConditionCheckItem",
  "DeleteItem",
  "GetItem",
  "PartiQLInsert",
  "PartiQLUpdate",
  "PutItem",
].map((action) => `dynamodb:${action} JobsPoolTable`);
const UPDATE = "dynamodb:UpdateItem JobsPoolTable";
const QUERY = "dynamodb:Query JobsPoolTable";

function logs(log: string): string[] {
  return [`logs:CreateLogStream ${log}`, `logs:PutLogEvents ${log}`];
}

describe("what each role may do, and nothing else", () => {
  const { stack, queue } = shopWith();
  queue.addConsumer("order-timeout", someFunction(stack, "Close"));
  queue.grantEnqueue(someFunction(stack, "Shop"));
  const template = templateOf(stack);

  it("the tick sends, and clears DLQs", () => {
    expect(rightsOf(template, "JobsTick")).toEqual(
      [
        ...ON_JOBS,
        UPDATE,
        QUERY,
        "dynamodb:DescribeTable JobsPoolTable",
        ...logs("JobsTickSweeperLog"),
        ...["JobsTopicordertimeoutReady", "JobsTopicworkReady"].flatMap((ready) => [
          `sqs:SendMessage ${ready}`,
          `sqs:GetQueueAttributes ${ready}`,
        ]),
        ...["JobsTopicordertimeoutDlq", "JobsTopicworkDlq"].flatMap((dlq) =>
          ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"].map(
            (action) => `sqs:${action} ${dlq}`,
          ),
        ),
        "sqs:SendMessage JobsTickDlq",
      ].sort(),
    );
  });

  it("the API sends, reads depths, and ends pulled jobs", () => {
    expect(rightsOf(template, "JobsApiHandler")).toEqual(
      [
        ...ON_JOBS,
        UPDATE,
        QUERY,
        ...logs("JobsApiHandlerLog"),
        "sqs:SendMessage JobsTopicordertimeoutReady",
        "sqs:SendMessage JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkDlq",
        "sqs:DeleteMessage JobsTopicworkReady",
        "sqs:ChangeMessageVisibility JobsTopicworkReady",
        "sqs:GetQueueAttributes JobsTopicordertimeoutReady",
        "sqs:GetQueueAttributes JobsTopicordertimeoutDlq",
        "sqs:GetQueueAttributes JobsTopicworkReady",
        "sqs:GetQueueAttributes JobsTopicworkDlq",
      ].sort(),
    );
  });

  it("receive reaches the pull topics alone", () => {
    expect(rightsOf(template, "JobsApiReceive")).toEqual(
      [
        ...ON_JOBS,
        UPDATE,
        ...logs("JobsApiReceiveLog"),
        "sqs:ReceiveMessage JobsTopicworkReady",
        "sqs:DeleteMessage JobsTopicworkReady",
        "sqs:ChangeMessageVisibility JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkDlq",
      ].sort(),
    );
  });

  it("a consumer reaches its own topic alone", () => {
    expect(rightsOf(template, "Close")).toEqual(
      [
        ...ON_JOBS,
        UPDATE,
        "sqs:ReceiveMessage JobsTopicordertimeoutReady",
        "sqs:DeleteMessage JobsTopicordertimeoutReady",
        "sqs:ChangeMessageVisibility JobsTopicordertimeoutReady",
        "sqs:GetQueueAttributes JobsTopicordertimeoutReady",
        "sqs:SendMessage JobsTopicordertimeoutReady",
        "sqs:SendMessage JobsTopicordertimeoutDlq",
      ].sort(),
    );
  });

  it("a producer files and sends", () => {
    expect(rightsOf(template, "Shop")).toEqual(
      [
        ...ON_JOBS,
        UPDATE,
        "sqs:SendMessage JobsTopicordertimeoutReady",
        "sqs:SendMessage JobsTopicworkReady",
      ].sort(),
    );
  });
});
