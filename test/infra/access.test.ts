import { Duration } from "aws-cdk-lib";
import { describe, expect, it } from "vitest";
import { policiesOf, type Resource, resourcesOf, type StackTemplate } from "./resources.ts";
import { shopWith, someFunction, templateOf } from "./shop-stack.ts";

/** What a function's role may do, as `action resource's id`. */
function rightsOf(template: StackTemplate, name: string): string[] {
  const isItsOwn = ({ Roles: roles }: Resource["Properties"]): boolean =>
    (roles as { Ref: string }[]).some(({ Ref }) => Ref.startsWith(name));
  const policies = policiesOf(template).filter(([, { Properties }]) => isItsOwn(Properties));
  const rights = policies.flatMap(([, { Properties }]) => {
    const { Statement } = Properties.PolicyDocument as {
      Statement: { Action: unknown; Resource: unknown }[];
    };
    return Statement.flatMap(({ Action, Resource }) =>
      [Action].flat().flatMap((action) =>
        [Resource].flat().map((resource) => {
          return `${action} ${idIn(resource).replace(/[0-9A-F]{8}$/, "")}`;
        }),
      ),
    );
  });
  return rights.sort();
}

/** The logical id of the resource in an ARN. For the schedules of a group, the group's name. */
function idIn(arn: unknown): string {
  const group = /:schedule\/([\w-]+)\/\*"/.exec(JSON.stringify(arn))?.[1];
  if (group !== undefined || arn === "*") return group ?? "*";
  const { "Fn::GetAtt": attribute, "Fn::Join": join } = arn as Record<string, unknown[]>;
  if (attribute) return String(attribute[0]);
  const parts = (join?.[1] ?? []) as (string | { Ref: string })[];
  return (
    parts.flatMap((part) => (typeof part === "object" && !part.Ref.includes("::") ? part.Ref : []))[0] ?? ""
  );
}

function onPool(...actions: string[]): string[] {
  return actions.map((action) => `dynamodb:${action} JobsPoolTable`);
}
const READ = ["GetItem", "BatchGetItem"];
const WRITE = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "PartiQLInsert", "PartiQLUpdate"];
const MEET = onPool(...READ, ...WRITE);

function onSchedules(group: string, ...actions: string[]): string[] {
  return actions.map((action) => `scheduler:${action} minutehand-${group}`);
}
const KEEP_PROMOTIONS = [
  ...onSchedules("promotions", "CreateSchedule", "UpdateSchedule", "DeleteSchedule"),
  "iam:PassRole JobsPromotionsSchedulesRole",
];

const MANAGE_SCHEDULES = [
  ...onSchedules("schedules", "CreateSchedule", "UpdateSchedule", "GetSchedule", "DeleteSchedule"),
  "scheduler:ListSchedules *",
  "iam:PassRole JobsRecurringSchedulesRole",
];

function logs(log: string): string[] {
  return [`logs:CreateLogStream ${log}`, `logs:PutLogEvents ${log}`];
}

describe("what each role may do, and nothing else", () => {
  const { stack, queue } = shopWith();
  queue.addConsumer("order-timeout", someFunction(stack, "Close"));
  queue.grantEnqueue(someFunction(stack, "Shop"));
  queue.grantPull("work", someFunction(stack, "Puller"));
  const template = templateOf(stack);

  it("the tick sends, and clears DLQs", () => {
    expect(rightsOf(template, "JobsTick")).toEqual(
      [
        ...MEET,
        ...onPool("Query", "DescribeTable"),
        "lambda:UpdateEventSourceMapping CloseTopicordertimeout",
        "lambda:InvokeFunction JobsTickSweeperFunction",
        ...MANAGE_SCHEDULES,
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
      ].sort(),
    );
  });

  it("the API sends, reads depths, and ends pulled jobs", () => {
    expect(rightsOf(template, "JobsApiHandler")).toEqual(
      [
        ...MEET,
        ...onPool("Query", "Scan"),
        "lambda:UpdateEventSourceMapping CloseTopicordertimeout",
        ...logs("JobsApiHandlerLog"),
        ...KEEP_PROMOTIONS,
        ...MANAGE_SCHEDULES,
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

  it("the receive function may use the queues of pull topics only", () => {
    expect(rightsOf(template, "JobsApiReceive")).toEqual(
      [
        ...MEET,
        ...logs("JobsApiReceiveLog"),
        "sqs:ReceiveMessage JobsTopicworkReady",
        "sqs:DeleteMessage JobsTopicworkReady",
        "sqs:ChangeMessageVisibility JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkDlq",
      ].sort(),
    );
  });

  it("a consumer may use the queues of its own topic only", () => {
    expect(rightsOf(template, "Close")).toEqual(
      [
        ...MEET,
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
        ...MEET,
        ...KEEP_PROMOTIONS,
        "sqs:SendMessage JobsTopicordertimeoutReady",
        "sqs:SendMessage JobsTopicworkReady",
      ].sort(),
    );
  });

  it("a worker that pulls may use the queues of its own topic only", () => {
    expect(rightsOf(template, "Puller")).toEqual(
      [
        ...MEET,
        "sqs:ReceiveMessage JobsTopicworkReady",
        "sqs:DeleteMessage JobsTopicworkReady",
        "sqs:ChangeMessageVisibility JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkReady",
        "sqs:SendMessage JobsTopicworkDlq",
      ].sort(),
    );
  });

  it("a schedule's function files and sends", () => {
    const sends = ["sqs:SendMessage JobsTopicordertimeoutReady", "sqs:SendMessage JobsTopicworkReady"];
    const one = MEET.filter((right) => !/ConditionCheckItem|PartiQLInsert/.test(right));
    expect(rightsOf(template, "JobsPromotionsPromote")).toEqual(
      [...one, ...sends, ...logs("JobsPromotionsPromoteLog")].sort(),
    );
    expect(new Set(rightsOf(template, "JobsRecurringOccurrence"))).toEqual(
      new Set([...one, ...sends, "sqs:SendMessage JobsRecurringDlq", ...logs("JobsRecurringOccurrenceLog")]),
    );
  });

  it("the function for events files, sends and cancels jobs, and receives from its own queue", () => {
    const key = "$.detail.key";
    const enqueueOn = { detailType: "Asked", key, delay: Duration.seconds(1) };
    const { stack: other } = shopWith({
      topics: { asked: { enqueueOn }, paid: { cancelOn: { detailType: "Paid", key } }, work: {} },
    });
    expect(rightsOf(templateOf(other), "JobsEvents")).toEqual(
      [
        ...MEET.filter((right) => !right.includes("PartiQLInsert")),
        ...KEEP_PROMOTIONS,
        ...logs("JobsEventsApplierLog"),
        "sqs:SendMessage JobsTopicaskedReady",
        ...["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"].map(
          (action) => `sqs:${action} JobsEventsQueue`,
        ),
      ].sort(),
    );
  });

  it("Scheduler invokes one function for each group", () => {
    expect(rightsOf(template, "JobsPromotionsSchedulesRole")).toEqual([
      "lambda:InvokeFunction JobsPromotionsPromoteFunction",
    ]);
    expect(rightsOf(template, "JobsRecurringSchedulesRole")).toEqual([
      "lambda:InvokeFunction JobsRecurringOccurrenceFunction",
      "sqs:SendMessage JobsRecurringDlq",
    ]);
  });

  it("roles may be passed to Scheduler only", () => {
    const statements = resourcesOf(template, "AWS::IAM::Policy").flatMap(([, { Properties }]) => {
      const { Statement } = Properties.PolicyDocument as {
        Statement: { Action: unknown; Condition?: unknown }[];
      };
      return Statement.filter(({ Action }) => Action === "iam:PassRole");
    });
    expect(statements).toHaveLength(4);
    for (const { Condition } of statements) {
      expect(Condition).toEqual({ StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } });
    }
  });
});

describe("where nothing is tracked", () => {
  const { stack, queue } = shopWith({
    topics: { notes: { tracking: "none" }, events: { consumer: "pull", tracking: "none" } },
  });
  queue.addConsumer("notes", someFunction(stack, "Note"));
  const template = templateOf(stack);

  it.each([
    ["Note", /^sqs:\w+ JobsTopicnotes/],
    ["JobsApiReceive", /^sqs:\w+ JobsTopicevents/],
  ] as const)(
    "%s can claim jobs that were filed while its topic was tracked, and may use no other topic's queues",
    (name, own) => {
      const rights = rightsOf(template, name).filter((right) => !right.startsWith("logs:"));
      expect(rights.filter((right) => own.test(right))).not.toEqual([]);
      expect(rights.filter((right) => !own.test(right))).toEqual([...MEET].sort());
    },
  );

  it("the tick leaves the DLQs alone", () => {
    const rights = rightsOf(template, "JobsTick").filter((right) => right.includes("Dlq"));
    expect(rights).toEqual([]);
  });
});
