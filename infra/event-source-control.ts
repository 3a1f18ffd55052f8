import { Lazy, Stack } from "aws-cdk-lib";
import { Effect, ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

/**
 * Mappings that one policy names: with the ARNs of their consumers, of 120 characters at most, about 5,400 of a managed policy's
 * 6,144 characters ("IAM and AWS STS quotas", IAM User Guide).
 */
const MAPPINGS_A_POLICY = 24;

/** Lets functions keep Lambda from the queues of paused topics: they know each topic's mapping, and may change those. */
export class EventSourceControl {
  private readonly scope: Construct;
  private readonly functions: readonly LambdaFunction[];
  private readonly mappings: Record<string, string> = {};
  private readonly arns: { mapping: string; consumer: string }[] = [];

  constructor(scope: Construct, functions: readonly LambdaFunction[]) {
    this.scope = scope;
    this.functions = functions;
    this.tell();
  }

  /**
   * A consumer of another stack is passed over: that stack names this one's queues, and the two cannot name each other.
   * Such a consumer keeps to a pause itself, where its topic is tracked.
   */
  add(topic: string, mapping: EventSourceMapping, consumer: LambdaFunction): void {
    if (Stack.of(this.scope) !== Stack.of(mapping)) return;
    this.mappings[topic] = mapping.eventSourceMappingId;
    this.tell();
    if (this.arns.length % MAPPINGS_A_POLICY === 0) this.allow(this.arns.length);
    this.arns.push({ mapping: mapping.eventSourceMappingArn, consumer: consumer.functionArn });
  }

  /** Lets the functions change the mappings from the `first` on. Shared by them, as all names are longer than one role's own policies. */
  private allow(first: number): void {
    const these = () => this.arns.slice(first, first + MAPPINGS_A_POLICY);
    const list = (name: "mapping" | "consumer") =>
      Lazy.list({ produce: () => these().map((arn) => arn[name]) });
    const statement = new PolicyStatement({
      effect: Effect.ALLOW,
      actions: ["lambda:UpdateEventSourceMapping"],
      resources: list("mapping"),
      // Whoever may change a mapping could else have it invoke any function.
      conditions: { ArnEqualsIfExists: { "lambda:FunctionArn": list("consumer") } },
    });
    const roles = this.functions.flatMap(({ role }) => role ?? []);
    const policy = new ManagedPolicy(this.scope, `Polling${first / MAPPINGS_A_POLICY}`, {
      statements: [statement],
      roles,
    });
    for (const fn of this.functions) fn.node.addDependency(policy);
  }

  private tell(): void {
    for (const fn of this.functions)
      fn.addEnvironment("MINUTEHAND_EVENT_SOURCES", Stack.of(fn).toJsonString(this.mappings));
  }
}
