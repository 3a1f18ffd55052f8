import { Aws, CfnResource, Stack, Token } from "aws-cdk-lib";
import { CfnTable } from "aws-cdk-lib/aws-dynamodb";
import type { IEventBusRef } from "aws-cdk-lib/aws-events";
import { CfnEventSourceMapping, CfnFunction, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import type { TopicMetricName } from "../src/settings/metrics.ts";
import type { Policy } from "../src/settings/policy.ts";
import { policyText } from "../src/settings/policy-text.ts";
import { DEFAULT_BUS } from "./topic-queues.ts";

/** The most bytes that all names and values may have together ("Environment variables", AWS Lambda Developer Guide). */
export const ENVIRONMENT_BYTES = 4096;
export const UUID_BYTES = 36;
/** An upper bound for a name or an ARN that only the deployment knows. */
const UNKNOWN_BYTES = 128;
/** CloudFormation names a table `<stack>-<logical id>-<12 or 13 characters>`. */
const SUFFIX_BYTES = 15;
const KNOWN_AT_DEPLOYMENT: Readonly<Record<string, number>> = {
  "AWS::Region": "ap-southeast-1".length,
  "AWS::AccountId": 12,
  "AWS::URLSuffix": "amazonaws.com.cn".length,
};

type QueueEnvironment = {
  readonly MINUTEHAND_TABLE: string;
  readonly MINUTEHAND_QUEUE_URL_PREFIX: string;
  readonly MINUTEHAND_POLICY: string;
  /** The names of the topics' metrics that functions write, with commas between them. Absent: all. */
  readonly MINUTEHAND_TOPIC_METRICS?: string;
};

/** The value of `MINUTEHAND_TOPIC_METRICS` for an empty list. No metric has this name, so functions write no metric of topics. */
const NO_METRIC = "none";

export function queueUrlPrefix(prefix: string): string {
  return `https://sqs.${Aws.REGION}.${Aws.URL_SUFFIX}/${Aws.ACCOUNT_ID}/${prefix}-`;
}

/** The short text of a policy. A policy with tokens stays JSON, because its final text is known only at deployment. */
function textOf(policy: Policy): string {
  const json = JSON.stringify(policy);
  return Token.isUnresolved(json) ? json : policyText(policy);
}

export function queueEnvironment(
  tableName: string,
  prefix: string,
  policy: Policy,
  topicMetrics: readonly TopicMetricName[] | undefined,
): QueueEnvironment {
  return {
    MINUTEHAND_TABLE: tableName,
    MINUTEHAND_QUEUE_URL_PREFIX: queueUrlPrefix(prefix),
    MINUTEHAND_POLICY: textOf(policy),
    ...(topicMetrics && { MINUTEHAND_TOPIC_METRICS: topicMetrics.join(",") || NO_METRIC }),
  };
}

/** The name of the event bus, if a topic has `notify`. Without it, functions make nothing that puts events. */
export function notifyEnvironment(
  topics: readonly { readonly busArn: string | undefined }[],
  eventBus: IEventBusRef | undefined,
): { readonly MINUTEHAND_EVENT_BUS?: string } {
  if (topics.every(({ busArn }) => busArn === undefined)) return {};
  return { MINUTEHAND_EVENT_BUS: eventBus?.eventBusRef.eventBusName ?? DEFAULT_BUS };
}

/** The queue whose environment a function has. A second queue would overwrite the same variables. */
const queues = new WeakMap<LambdaFunction, Construct>();

export function setEnvironment(
  queue: Construct,
  fn: LambdaFunction,
  environment: Readonly<Record<string, string>>,
): void {
  const first = queues.get(fn) ?? queue;
  if (first !== queue)
    throw new Error(
      `DelayQueue ${queue.node.path}: ${fn.node.path} already has the environment of ${first.node.path}, and a function ` +
        "can have the environment of one queue only. Use a function for each queue, or call the other queue's HTTP API",
    );
  queues.set(fn, queue);
  for (const [name, value] of Object.entries(environment)) fn.addEnvironment(name, value);
}

/** The variables that grow with the topics, and what is in them. */
const BESIDE_POLICY: Readonly<Record<string, string>> = {
  MINUTEHAND_EVENT_SOURCES: "by the ids of their event sources",
  MINUTEHAND_EVENTS: "by their events",
};

/** How many bytes a policy takes in each function's environment. */
export function policyBytes(policy: Policy): number {
  return Buffer.byteLength(textOf(policy));
}

/** How many bytes a function's environment has at most: the queue's variables and the user's own. */
export function environmentBytes(fn: LambdaFunction): number {
  const names = namesIn(Stack.of(fn));
  return Object.entries(variablesOf(fn)).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + bytesOf(value, names),
    0,
  );
}

/** Empty if Lambda would accept the environment. */
export function environmentErrors(fn: LambdaFunction, policy: Policy): string[] {
  const bytes = environmentBytes(fn);
  if (bytes <= ENVIRONMENT_BYTES) return [];
  const variables = variablesOf(fn);
  const names = namesIn(Stack.of(fn));
  const others = Object.entries(BESIDE_POLICY).flatMap(([variable, what]) =>
    variable in variables ? [` and ${bytesOf(variables[variable], names)} ${what}`] : [],
  );
  return [
    `the environment of ${fn.node.path} has ${bytes} bytes, and Lambda allows ${ENVIRONMENT_BYTES}: ${policyBytes(policy)} are taken ` +
      `by the policies of ${Object.keys(policy.topics).length} topics${others.join("")}. Give topics shorter names, or declare some of ` +
      "them in another DelayQueue, with another prefix",
  ];
}

function variablesOf(fn: LambdaFunction): Readonly<Record<string, unknown>> {
  const resource = fn.node.defaultChild;
  if (!(resource instanceof CfnFunction)) return {};
  const rendered: unknown = Stack.of(fn).resolve(resource.environment);
  return (rendered as { variables?: Record<string, unknown> } | undefined)?.variables ?? {};
}

/** The most bytes of what `Ref` returns for a stack's event source mappings and tables, by their logical ids. */
function namesIn(stack: Stack): Map<string, number> {
  const resources = stack.node.findAll().filter((one) => CfnResource.isCfnResource(one));
  return new Map(
    resources.flatMap((one) => {
      const id = String(stack.resolve(one.logicalId));
      if (one instanceof CfnEventSourceMapping) return [[id, UUID_BYTES]];
      if (!(one instanceof CfnTable) || Token.isUnresolved(stack.stackName)) return [];
      return [[id, Math.max(stack.stackName.length + id.length + SUFFIX_BYTES, UNKNOWN_BYTES)]];
    }),
  );
}

/** The most bytes that a value can have after CloudFormation has resolved it. */
function bytesOf(value: unknown, names: ReadonlyMap<string, number>): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  const { Ref: ref = "", "Fn::Join": join } = value as { Ref?: string; "Fn::Join"?: [string, unknown[]] };
  if (join !== undefined) {
    const [delimiter, parts] = join;
    const between = Buffer.byteLength(delimiter) * Math.max(parts.length - 1, 0);
    return parts.reduce<number>((sum, part) => sum + bytesOf(part, names), between);
  }
  return names.get(ref) ?? KNOWN_AT_DEPLOYMENT[ref] ?? UNKNOWN_BYTES;
}
