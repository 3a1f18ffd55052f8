import { Lazy, Stack } from "aws-cdk-lib";
import { Effect, ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

/**
 * Each has at most 122 characters: a mapping has its own ARN and its consumer's, and a consumer that is an alias or a version has a
 * pattern too. So they take about 5,600 of a policy's 6,144 characters ("IAM and AWS STS quotas", IAM User Guide).
 */
const ARNS_A_POLICY = 48;
/** Of a mapping whose consumer is a function. */
const ARNS_A_MAPPING = 2;

type Arns = { readonly mappings: string[]; readonly consumers: string[] };

/** Keeps Lambda from polling the queues of paused topics. Functions get the ids of the mappings, and the permission to change them. */
export class EventSourceControl {
  private readonly scope: Construct;
  readonly functions: readonly LambdaFunction[];
  /** The ids of the mappings by topic, in the order of the policy's topics. A topic without a mapping has an empty id. */
  private readonly mappings: Map<string, string>;
  private readonly policies: Arns[] = [];

  constructor(scope: Construct, functions: readonly LambdaFunction[], topics: readonly string[]) {
    this.scope = scope;
    this.functions = functions;
    this.mappings = new Map(topics.map((topic) => [topic, ""]));
    this.tell();
  }

  /**
   * Ignores a consumer in another stack: that stack refers to this stack's queues, and two stacks cannot refer to each other. Such a
   * consumer of a tracked topic checks for a pause itself.
   */
  add(topic: string, mapping: EventSourceMapping, consumer: LambdaFunction, isQualified = false): void {
    if (Stack.of(this.scope) !== Stack.of(mapping)) return;
    this.mappings.set(topic, mapping.eventSourceMappingId);
    this.tell();
    // AWS's pages do not say whether the condition sees the ARN of the alias or the ARN of its function.
    const consumers = [consumer.functionArn, ...(isQualified ? [`${consumer.functionArn}:*`] : [])];
    const { mappings, consumers: theirs } = this.policyFor(1 + consumers.length);
    mappings.push(mapping.eventSourceMappingArn);
    theirs.push(...consumers);
  }

  /** Answers how many policies `count` more mappings add whose consumers are functions. */
  furtherPolicies(count: number): number {
    const fitting = Math.floor(this.room / ARNS_A_MAPPING);
    return Math.ceil(Math.max(count - fitting, 0) / (ARNS_A_POLICY / ARNS_A_MAPPING));
  }

  /** How many ARNs fit into the last policy. */
  private get room(): number {
    const last = this.policies.at(-1);
    return last ? ARNS_A_POLICY - last.mappings.length - last.consumers.length : 0;
  }

  /** Answers the last policy if it has room. Inline policies of a role cannot hold the ARNs of many topics. */
  private policyFor(count: number): Arns {
    const last = this.policies.at(-1);
    if (last && count <= this.room) return last;
    const next: Arns = { mappings: [], consumers: [] };
    this.allow(next, this.policies.push(next) - 1);
    return next;
  }

  private allow({ mappings, consumers }: Arns, index: number): void {
    const statement = new PolicyStatement({
      effect: Effect.ALLOW,
      actions: ["lambda:UpdateEventSourceMapping"],
      resources: Lazy.list({ produce: () => mappings }),
      // Without this condition, the functions could make a mapping invoke any other function.
      conditions: { ArnEqualsIfExists: { "lambda:FunctionArn": Lazy.list({ produce: () => consumers }) } },
    });
    const roles = this.functions.flatMap(({ role }) => role ?? []);
    const policy = new ManagedPolicy(this.scope, `Polling${index}`, { statements: [statement], roles });
    for (const fn of this.functions) fn.node.addDependency(policy);
  }

  /**
   * Tells the ids as one JSON string with commas between them, because names would fill the environment. It is JSON, because during a
   * deployment Lambda may run older code, which reads JSON, with the new environment for a moment.
   */
  private tell(): void {
    const ids = [...this.mappings.values()].join(",").replace(/,+$/, "");
    for (const fn of this.functions) fn.addEnvironment("MINUTEHAND_EVENT_SOURCES", `"${ids}"`);
  }
}
