import { Lazy, Stack } from "aws-cdk-lib";
import { Effect, ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

/**
 * Two ARNs a mapping: its own of about 100 characters, its consumer's of at most 120. So about 5,400 of a policy's 6,144 characters ("IAM
 * and AWS STS quotas", IAM User Guide).
 */
export const MAPPINGS_A_POLICY = 24;

/** Keeps Lambda from polling the queues of paused topics. Functions get the ids of the mappings, and the permission to change them. */
export class EventSourceControl {
  private readonly scope: Construct;
  readonly functions: readonly LambdaFunction[];
  /** The ids of the mappings by topic, in the order of the policy's topics. A topic without a mapping has an empty id. */
  private readonly mappings: Map<string, string>;
  private readonly arns: { mapping: string; consumer: string }[] = [];

  /** How many mappings the functions may change. */
  get size(): number {
    return this.arns.length;
  }

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
  add(topic: string, mapping: EventSourceMapping, consumer: LambdaFunction): void {
    if (Stack.of(this.scope) !== Stack.of(mapping)) return;
    this.mappings.set(topic, mapping.eventSourceMappingId);
    this.tell();
    if (this.arns.length % MAPPINGS_A_POLICY === 0) this.allow(this.arns.length);
    this.arns.push({ mapping: mapping.eventSourceMappingArn, consumer: consumer.functionArn });
  }

  /** Lets the functions change up to `MAPPINGS_A_POLICY` mappings from the `first` on. Inline policies of a role cannot hold all ARNs. */
  private allow(first: number): void {
    const these = () => this.arns.slice(first, first + MAPPINGS_A_POLICY);
    const list = (name: "mapping" | "consumer") =>
      Lazy.list({ produce: () => these().map((arn) => arn[name]) });
    const statement = new PolicyStatement({
      effect: Effect.ALLOW,
      actions: ["lambda:UpdateEventSourceMapping"],
      resources: list("mapping"),
      // Without this condition, the functions could make a mapping invoke any other function.
      conditions: { ArnEqualsIfExists: { "lambda:FunctionArn": list("consumer") } },
    });
    const roles = this.functions.flatMap(({ role }) => role ?? []);
    const policy = new ManagedPolicy(this.scope, `Polling${first / MAPPINGS_A_POLICY}`, {
      statements: [statement],
      roles,
    });
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
