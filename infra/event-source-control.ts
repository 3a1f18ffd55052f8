import { Stack } from "aws-cdk-lib";
import { Grant } from "aws-cdk-lib/aws-iam";
import type { EventSourceMapping, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";

/** Lets functions keep Lambda from the queues of paused topics: they know each topic's mapping, and may change those. */
export class EventSourceControl {
  private readonly functions: readonly LambdaFunction[];
  private readonly mappings: Record<string, string> = {};

  constructor(functions: readonly LambdaFunction[]) {
    this.functions = functions;
    this.tell();
  }

  /**
   * A consumer of another stack is passed over: that stack names this one's queues, and the two cannot name each other.
   * Such a consumer keeps to a pause itself, where its topic is tracked.
   */
  add(topic: string, mapping: EventSourceMapping): void {
    const [first] = this.functions;
    if (first === undefined || Stack.of(first) !== Stack.of(mapping)) return;
    this.mappings[topic] = mapping.eventSourceMappingId;
    this.tell();
    for (const grantee of this.functions) {
      const resourceArns = [mapping.eventSourceMappingArn];
      const actions = ["lambda:UpdateEventSourceMapping"];
      Grant.addToPrincipal({ grantee, actions, resourceArns }).assertSuccess();
    }
  }

  private tell(): void {
    for (const fn of this.functions)
      fn.addEnvironment("MINUTEHAND_EVENT_SOURCES", Stack.of(fn).toJsonString(this.mappings));
  }
}
