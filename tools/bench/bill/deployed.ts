import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import { ASSUMED } from "./assumed.ts";

const HANDLER = join(import.meta.dirname, "../../../examples/order-timeout/close-order.ts");

/** What the bill takes from the template of a queue with one Lambda topic. */
export type Deployed = {
  /** MiB. */
  readonly memory: Readonly<Record<FunctionName, number>>;
  /** Whether Lambda writes its own lines about each invocation into the log of this function. */
  readonly logsInvocations: (name: FunctionName) => boolean;
  readonly alarms: number;
  /** The alarms that each further topic has too. */
  readonly topicAlarms: number;
  /** How many long polls Lambda keeps open at an idle queue. */
  readonly pollers: number;
  /** The line of one call in the access log. */
  readonly accessLogBytes: number;
};

export type Resource = {
  readonly Type: string;
  readonly Properties: {
    readonly MemorySize?: number;
    readonly LoggingConfig?: { readonly SystemLogLevel?: string };
    readonly ScalingConfig?: { readonly MaximumConcurrency?: number };
    readonly AccessLogSettings?: { readonly Format: string };
  };
};

/** For each function, the pattern of its logical id. No other function has an id that matches. */
const LOGICAL_IDS = {
  api: /Handler(?!ordertimeout)/,
  receive: /Receive/,
  tick: /Sweeper/,
  promote: /Promote/,
  consumer: /Handlerordertimeout/,
} as const;
type FunctionName = keyof typeof LOGICAL_IDS;

/** The resources of a queue of one Lambda topic with the default props, by logical id. */
export function defaultResources(): [string, Resource][] {
  const stack = new Stack(new App(), "Billed");
  const queue = new DelayQueue(stack, "Jobs", { topics: { "order-timeout": {} } });
  queue.addHandler("order-timeout", HANDLER);
  return Object.entries(Template.fromStack(stack).toJSON().Resources as Record<string, Resource>);
}

export function deployedQueue(): Deployed {
  const resources = defaultResources();
  const ofType = (type: string) => resources.filter(([, { Type }]) => Type === type);
  const functionOf = (name: FunctionName): Resource["Properties"] => {
    const found = ofType("AWS::Lambda::Function").filter(([id]) => LOGICAL_IDS[name].test(id));
    const [one] = found.map(([, { Properties }]) => Properties);
    if (found.length === 1 && one !== undefined) return one;
    const ids = found.map(([id]) => id).join(", ") || "none";
    throw new Error(`one function must match ${LOGICAL_IDS[name]}, found ${ids}`);
  };
  const alarms = ofType("AWS::CloudWatch::Alarm");
  const [source] = ofType("AWS::Lambda::EventSourceMapping").map(([, { Properties }]) => Properties);
  const [stage] = ofType("AWS::ApiGatewayV2::Stage").map(([, { Properties }]) => Properties);
  const isLimited = source?.ScalingConfig?.MaximumConcurrency !== undefined;
  const names = Object.keys(LOGICAL_IDS) as FunctionName[];
  return {
    memory: Object.fromEntries(
      names.map((name) => [name, functionOf(name).MemorySize ?? 128]),
    ) as Deployed["memory"],
    logsInvocations: (name) => functionOf(name).LoggingConfig?.SystemLogLevel !== "WARN",
    alarms: alarms.length,
    topicAlarms: alarms.filter(([id]) => id.includes("ordertimeout")).length,
    pollers: isLimited ? ASSUMED.pollers.limited : ASSUMED.pollers.unlimited,
    accessLogBytes: lineBytes(stage?.AccessLogSettings?.Format ?? ""),
  };
}

function lineBytes(format: string): number {
  const filled = format.replaceAll(/\$context\.(?:\w+\.)*(\w+)/g, (_, name: string) =>
    "x".repeat(ASSUMED.accessLogBytes[name] ?? 10),
  );
  return filled.length;
}
