import { dynamoClient, longPollClient, sqsClient } from "../aws/clients.ts";
import { dynamoPool } from "../aws/pool.ts";
import { sqsQueues } from "../aws/queues.ts";
import { watchClock } from "../aws/watch-clock.ts";
import { SIZES } from "../core/work-sizes.ts";
import type { Context } from "../protocol/ports.ts";
import { allowLoopback } from "../settings/loopback.ts";
import { policyIn } from "../settings/policy-text.ts";
import { withNotices } from "./notices.ts";
import { clock, random, TIMERS } from "./process.ts";
import { createTelemetry, type Telemetry } from "./telemetry.ts";

/** The variables that the construct gives each function, producer and worker. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function requiredVariable(environment: Environment, name: string): string {
  const value = environment[name];
  if (value === undefined || value === "") {
    throw new Error(
      `environment variable ${name} must be set: addConsumer, grantEnqueue and grantPull of the DelayQueue construct set it for a ` +
        "function. Give the construct's `environment` to a program outside Lambda",
    );
  }
  return value;
}

/** Makes the protocol's context on AWS. Throws if a variable is missing. `polls`: whether the process also waits for messages. */
export function createContext(
  environment: Environment = process.env,
  { polls = false } = {},
): Context & { telemetry: Telemetry } {
  const policy = policyIn(requiredVariable(environment, "MINUTEHAND_POLICY"));
  const urlPrefix = requiredVariable(environment, "MINUTEHAND_QUEUE_URL_PREFIX");
  const queue = serviceIn(urlPrefix);
  const telemetry = createTelemetry(queue, environment.MINUTEHAND_TOPIC_METRICS);
  const warnOfClock = (error: string) =>
    telemetry.report({ type: "trouble", topic: "", what: "comparing clocks", error });
  const ctx = {
    pool: dynamoPool({
      // The clock of a local stack can be moved, and that of its DynamoDB cannot.
      client: environment.MINUTEHAND_MOVING_CLOCK
        ? dynamoClient()
        : watchClock(dynamoClient(), clock, warnOfClock),
      table: requiredVariable(environment, "MINUTEHAND_TABLE"),
      clock,
    }),
    queues: sqsQueues({
      client: sqsClient(),
      ...(polls && { longPollClient: longPollClient() }),
      urlPrefix,
    }),
    clock,
    random,
    policy: environment.MINUTEHAND_ALLOW_LOOPBACK === "true" ? allowLoopback(policy) : policy,
    sizes: SIZES,
    report: telemetry.report,
    telemetry,
  };
  // Only the functions of a queue with `notify` have the variable.
  const { MINUTEHAND_EVENT_BUS: name } = environment;
  return name ? withNotices(ctx, { queue, name, urlPrefix }, TIMERS, environment) : ctx;
}

/** The queue's `prefix`, which names its logs, metrics and events. A URL begins with `https://…/<account>/<prefix>-`. */
function serviceIn(urlPrefix: string): string {
  return urlPrefix.slice(urlPrefix.lastIndexOf("/") + 1).replace(/-$/, "");
}
