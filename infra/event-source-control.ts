import { Lazy, Stack } from "aws-cdk-lib";
import { Effect, ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

/**
 * Each has at most 122 characters: a mapping has its own ARN and its consumer's, and a consumer that is an alias or a version has a
 * pattern too. So they take about 5,600 of a policy's 6,144 characters ("IAM and AWS STS quotas", IAM User Guide).
 */
const ARNS_A_POLICY = 48;

type Arns = { readonly mappings: string[]; readonly consumers: string[] };

/** Keeps Lambda from polling the queues of paused topics. Functions get the ids of the mappings, and the permission to change them. */
export class EventSourceControl {
  private readonly scope: Construct;
  private readonly functions: readonly LambdaFunction[];
  private readonly mappings: Record<string, string> = {};
  private readonly policies: Arns[] = [];

  constructor(scope: Construct, functions: readonly LambdaFunction[]) {
    this.scope = scope;
    this.functions = functions;
    this.tell();
  }

  /**
   * Ignores a consumer in another stack: that stack refers to this stack's queues, and two stacks cannot refer to each other. Such a
   * consumer of a tracked topic checks for a pause itself.
   */
  add(topic: string, mapping: EventSourceMapping, consumer: LambdaFunction, isQualified = false): void {
    if (Stack.of(this.scope) !== Stack.of(mapping)) return;
    this.mappings[topic] = mapping.eventSourceMappingId;
    this.tell();
    // AWS's pages do not say whether the condition sees the ARN of the alias or the ARN of its function.
    const consumers = [consumer.functionArn, ...(isQualified ? [`${consumer.functionArn}:*`] : [])];
    const { mappings, consumers: theirs } = this.policyFor(1 + consumers.length);
    mappings.push(mapping.eventSourceMappingArn);
    theirs.push(...consumers);
  }

  /** Answers the last policy if it has room. Inline policies of a role cannot hold the ARNs of many topics. */
  private policyFor(count: number): Arns {
    const last = this.policies.at(-1);
    if (last && last.mappings.length + last.consumers.length + count <= ARNS_A_POLICY) return last;
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

  private tell(): void {
    for (const fn of this.functions)
      fn.addEnvironment("MINUTEHAND_EVENT_SOURCES", Stack.of(fn).toJsonString(this.mappings));
  }
}
