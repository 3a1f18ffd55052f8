import { createHash } from "node:crypto";
import { CfnResource, type Stack } from "aws-cdk-lib";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import type { Policy } from "../../src/settings/policy.ts";
import { QUEUES_A_STATEMENT } from "../access.ts";
import { ENVIRONMENT_BYTES, environmentBytes, policyBytes, UUID_BYTES } from "../environment.ts";
import type { EventSourceControl } from "../event-source-control.ts";

/** "Understand CloudFormation quotas", AWS CloudFormation User Guide. */
const MOST_RESOURCES = 500;
/** Synth warns above these. */
const MANY_RESOURCES = 400;
const MANY_BYTES = 3300;
/** The resources of a pull topic with default settings: a queue, a DLQ and its alarm. */
const PULL_TOPIC = 3;
/** A topic with a handler also has a function with its role, policy, log group and event source. So has a topic with a target. */
const HANDLER_TOPIC = 8;
/** Of the statements that name queues, at least this many fit into a role's own policy, and into each managed policy beside it. */
const STATEMENTS_IN_ROLE = 4;
const STATEMENTS_A_POLICY = 3;

/** By how much a policy with other names of the same lengths may be longer after compression. Measured with 6,000 policies. */
const SPREAD_BYTES = 20;
const SPREAD_BYTES_A_TOPIC = 2;

/** A role with statements that name the topics' queues. The CDK gives it further policies when topics are added. */
export type QueueReader = {
  readonly role: Construct | undefined;
  /** How often the role's statements name each topic. */
  readonly namings: number;
  /** Whether the role is for pull topics only. */
  readonly pullOnly?: true;
  /** Whether the role is the user's own, whose other statements may fill its own policy. */
  readonly isForeign?: true;
};

export type QueueSize = {
  readonly policy: Policy;
  /** All functions with the queue's environment. */
  readonly functions: Iterable<LambdaFunction>;
  readonly control: EventSourceControl;
  readonly readers: readonly QueueReader[];
  /** How many topics the queue may have for other reasons. */
  readonly mostTopics: number;
};

type Kind = "lambda" | "pull";
/** `hasIds`: whether the function knows the event source mappings. */
type FunctionEnvironment = { readonly bytes: number; readonly hasIds: boolean };

/** `undefined` if the stack is far from full. */
export function roomForTopics(stack: Stack, size: QueueSize): string | undefined {
  const resources = stack.node
    .findAll()
    .filter((node) => CfnResource.isCfnResource(node) && node.stack === stack).length;
  const environments = [...size.functions].map((fn) => ({
    path: fn.node.path,
    bytes: environmentBytes(fn),
    hasIds: size.control.functions.includes(fn),
  }));
  const { path, bytes } = environments.reduce((fullest, one) => (one.bytes > fullest.bytes ? one : fullest));
  if (resources <= MANY_RESOURCES && bytes <= MANY_BYTES) return undefined;
  const fitting = (kind: Kind): number => {
    let count = 0;
    while (
      resources + furtherResources(size, kind, count + 1) <= MOST_RESOURCES &&
      fits(size, environments, kind, count + 1)
    )
      count++;
    return count;
  };
  const longest = Math.max(...Object.keys(size.policy.topics).map((topic) => topic.length));
  return (
    `stack ${stack.stackName} has ${resources} resources, and CloudFormation allows ${MOST_RESOURCES}; the environment of ${path} ` +
    `has ${bytes} bytes, and Lambda allows ${ENVIRONMENT_BYTES}: at least ${fitting("lambda")} more topics with handlers fit, or ` +
    `${fitting("pull")} pull topics, with default settings and names of at most ${longest} characters. ` +
    "Declare further topics in another DelayQueue, with another prefix, in another stack"
  );
}

/** The most resources that `count` more topics of a kind add. */
function furtherResources({ policy, control, readers }: QueueSize, kind: Kind, count: number): number {
  const topics = Object.keys(policy.topics).length;
  const polling = kind === "pull" ? 0 : control.furtherPolicies(count);
  const further = readers
    .filter(({ pullOnly }) => kind === "pull" || !pullOnly)
    .map((reader) => furtherPolicies(reader, topics, count));
  return (
    count * (kind === "pull" ? PULL_TOPIC : HANDLER_TOPIC) +
    polling +
    further.reduce((sum, one) => sum + one, 0)
  );
}

/** How many managed policies a role gets at most for the statements of `count` more topics. */
function furtherPolicies(reader: QueueReader, topics: number, count: number): number {
  const { namings, isForeign } = reader;
  const statementsFor = (some: number) => Math.ceil(some / QUEUES_A_STATEMENT);
  const grown = namings * (statementsFor(topics + count) - Math.floor(topics / QUEUES_A_STATEMENT));
  const moved = Math.ceil(grown / STATEMENTS_A_POLICY);
  if (isForeign) return moved;
  // Pull topics and other topics have statements of their own, so there is one more for each naming.
  const all = namings * (statementsFor(topics + count) + 1);
  const most = Math.ceil(Math.max(all - STATEMENTS_IN_ROLE, 0) / STATEMENTS_A_POLICY);
  return Math.min(Math.max(most - policiesOf(reader), 0), moved);
}

function policiesOf({ role }: QueueReader): number {
  return role?.node.children.filter(({ node }) => node.id.startsWith("OverflowPolicy")).length ?? 0;
}

/** Whether every environment has room for `count` more topics, and the queue may have so many. */
function fits(
  { policy, mostTopics }: QueueSize,
  environments: readonly FunctionEnvironment[],
  kind: Kind,
  count: number,
): boolean {
  const topics = Object.entries(policy.topics);
  if (topics.length + count > mostTopics) return false;
  const longest = Math.max(...topics.map(([topic]) => topic.length));
  const added = Array.from(
    { length: count },
    (_, i) => [nameOf(i, longest), kind === "pull" ? { consumer: kind } : {}] as const,
  );
  const larger = { ...policy, topics: Object.fromEntries([...topics, ...added]) };
  const further = policyBytes(larger) - policyBytes(policy) + SPREAD_BYTES + count * SPREAD_BYTES_A_TOPIC;
  const ids = count * (kind === "pull" ? 1 : UUID_BYTES + 1);
  return environments.every(({ bytes, hasIds }) => bytes + further + (hasIds ? ids : 0) <= ENVIRONMENT_BYTES);
}

/** A name that can hardly be compressed. */
function nameOf(index: number, length: number): string {
  const hash = BigInt(`0x${createHash("sha256").update(`${index}`).digest("hex")}`).toString(36);
  return `${hash}${index.toString(36).padStart(2, "0")}`.slice(-Math.max(length, 4));
}
