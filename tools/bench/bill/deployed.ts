import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { DelayQueue } from "../../../infra/delay-queue.ts";

const HANDLER = join(import.meta.dirname, "../../../examples/order-timeout/close-order.ts");

/** For a queue with one Lambda topic: the functions' memory in MiB, the alarms, and those that each further topic has too. */
export type Deployed = {
  readonly memory: Readonly<Record<keyof typeof LOGICAL_IDS, number>>;
  readonly alarms: number;
  readonly topicAlarms: number;
};

type Resource = { readonly Type: string; readonly Properties: { readonly MemorySize?: number } };

/** For each function, the pattern of its logical id. No other function has an id that matches. */
const LOGICAL_IDS = {
  api: /Handler(?!ordertimeout)/,
  receive: /Receive/,
  tick: /Sweeper/,
  promote: /Promote/,
  consumer: /Handlerordertimeout/,
} as const;

export function deployedQueue(): Deployed {
  const stack = new Stack(new App(), "Billed");
  const queue = new DelayQueue(stack, "Jobs", { topics: { "order-timeout": {} } });
  queue.addHandler("order-timeout", HANDLER);
  const resources = Object.entries(Template.fromStack(stack).toJSON().Resources as Record<string, Resource>);
  const memoryOf = (pattern: RegExp): number => {
    const found = resources.filter(([id, { Type }]) => Type === "AWS::Lambda::Function" && pattern.test(id));
    const [size] = found.map(([, { Properties }]) => Properties.MemorySize);
    if (found.length !== 1 || size === undefined)
      throw new Error(
        `one function must match ${pattern}, found ${found.map(([id]) => id).join(", ") || "none"}`,
      );
    return size;
  };
  const alarms = resources.filter(([, { Type }]) => Type === "AWS::CloudWatch::Alarm");
  return {
    memory: Object.fromEntries(
      Object.entries(LOGICAL_IDS).map(([name, pattern]) => [name, memoryOf(pattern)]),
    ) as Deployed["memory"],
    alarms: alarms.length,
    topicAlarms: alarms.filter(([id]) => id.includes("ordertimeout")).length,
  };
}
