import { App, CfnDeletionPolicy, CfnResource, Duration, Stack } from "aws-cdk-lib";
import { Code, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { BundledFunction } from "../../../infra/bundling/bundled-function.ts";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import { code, table } from "../markdown.ts";

/** What the resources of each type are for. */
const PURPOSES: Readonly<Record<string, string>> = {
  "AWS::ApiGatewayV2::Api": "the HTTP API",
  "AWS::ApiGatewayV2::Integration": "connects the HTTP API to its functions",
  "AWS::ApiGatewayV2::Route": "the paths of the HTTP API",
  "AWS::ApiGatewayV2::Stage": "the limits and the access log of the HTTP API",
  "AWS::CloudWatch::Alarm": "the [alarms](metrics-and-alarms.md)",
  "AWS::DynamoDB::Table": "the jobs, with point-in-time recovery",
  "AWS::Events::Rule": "starts the tick each minute",
  "AWS::IAM::ManagedPolicy": "further permissions of the functions",
  "AWS::IAM::Policy": "the permissions of the functions",
  "AWS::IAM::Role": "a role for each function, and one for each group of schedules",
  "AWS::Lambda::EventInvokeConfig": "how often Lambda repeats a failed invocation",
  "AWS::Lambda::EventSourceMapping": "gives the topic's messages to your function",
  "AWS::Lambda::Function": "the tick, the HTTP API, the schedules; and your function",
  "AWS::Lambda::Permission": "lets other services invoke the functions",
  "AWS::Logs::LogGroup": "a log for each function, and the access log; kept for a month",
  "AWS::SQS::Queue": "the topic's queue and its DLQ, and a DLQ of the schedules",
  "AWS::SQS::QueuePolicy": "refuses requests without TLS",
  "AWS::Scheduler::ScheduleGroup": "one-time schedules of far jobs, and recurring schedules",
};

type Counts = { readonly all: number; readonly staying: number };

/** What a deployment of a queue with the default settings creates, from its template. */
export function created(): string {
  const one = countsOf(1);
  const two = countsOf(2);
  const unused = Object.keys(PURPOSES).filter((type) => !one.has(type));
  if (unused.length > 0) throw new Error(`no queue has a resource of the type ${unused.join(", ")}`);
  const rows = [...one].map(([type, { all, staying }]) => {
    const further = (two.get(type)?.all ?? 0) - all;
    return [
      code(type),
      purposeOf(type),
      String(all),
      further === 0 ? "" : String(further),
      fateOf(all, staying),
    ];
  });
  const head = ["resource type", "what for", "one topic", "each further topic", "after `cdk destroy`"];
  return table(
    head,
    rows.sort(([first = ""], [second = ""]) => first.localeCompare(second)),
  );
}

function purposeOf(type: string): string {
  const purpose = PURPOSES[type];
  if (purpose === undefined) throw new Error(`${import.meta.filename} must say what ${type} is for`);
  return purpose;
}

function fateOf(all: number, staying: number): string {
  if (staying === 0) return "deleted";
  return staying === all ? "**stays**" : `**${staying} stay**`;
}

function countsOf(topics: number): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  for (const { cfnResourceType: type, cfnOptions } of resourcesOf(topics, false)) {
    const { all, staying } = counts.get(type) ?? { all: 0, staying: 0 };
    counts.set(type, { all: all + 1, staying: staying + Number(stays(cfnOptions.deletionPolicy)) });
  }
  return counts;
}

/** The resources of a stack with a queue whose topics each have a function, made as by `addHandler`. */
export function resourcesOf(topics: number, removable: boolean): CfnResource[] {
  const stack = new Stack(new App(), "Docs");
  const names = Array.from({ length: topics }, (_, index) => `topic-${index}`);
  const queue = new DelayQueue(stack, "Jobs", {
    topics: Object.fromEntries(names.map((name) => [name, {}])),
    removable,
    topicsFile: "none.json",
  });
  for (const name of names) queue.addConsumer(name, handlerOf(stack, name, removable));
  return stack.node.findAll().filter((construct) => CfnResource.isCfnResource(construct));
}

function handlerOf(stack: Stack, topic: string, removable: boolean): LambdaFunction {
  const code = Code.fromInline("exports.handler = async () => {}");
  const shared = { code, timeout: Duration.seconds(60), memoryMiB: 512 };
  return new BundledFunction(stack, `Consumer-${topic}`, { ...shared, removable }).fn;
}

/** Whether CloudFormation keeps a resource when it deletes the resource's stack. */
export function stays(policy: CfnDeletionPolicy | undefined): boolean {
  return policy === CfnDeletionPolicy.RETAIN || policy === CfnDeletionPolicy.RETAIN_EXCEPT_ON_CREATE;
}
