import type { DeployedStack } from "../aws/account.ts";
import type { TopicReport } from "../client/client.ts";
import { LOOKAHEAD } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { many } from "./columns.ts";

/** One thing that `doctor` looked at. `todo` is for what is not ok. */
export type Check = {
  readonly check: string;
  readonly result: "ok" | "warning" | "failed";
  readonly found: string;
  readonly todo?: string;
};

export function failed(check: string, error: unknown, todo?: string): Check {
  return { check, result: "failed", found: messageOf(error), ...(todo === undefined ? {} : { todo }) };
}

/** Of the runner that plays AWS. */
const OLDEST_LOCAL_NODE = 24;

export function judgeNode(version: string): Check {
  const node = { check: "node", found: version };
  if (Number(/^v(\d+)/.exec(version)?.[1]) >= OLDEST_LOCAL_NODE) return { ...node, result: "ok" };
  return { ...node, result: "warning", todo: `minutehand local needs Node ${OLDEST_LOCAL_NODE} or later` };
}

export function judgeStack(name: string, { status }: DeployedStack): Check {
  const stack = { check: "stack", found: `${name} is ${status}` };
  if (/_IN_PROGRESS$/.test(status))
    return { ...stack, result: "warning", todo: "wait for the deployment's end" };
  if (/^(CREATE|UPDATE|IMPORT)_COMPLETE$/.test(status)) return { ...stack, result: "ok" };
  if (status === "UPDATE_ROLLBACK_COMPLETE" || status === "IMPORT_ROLLBACK_COMPLETE") {
    const todo = "the last deployment was taken back: see the stack's events, and deploy again";
    return { ...stack, result: "warning", todo };
  }
  return { ...stack, result: "failed", todo: "see the stack's events, and deploy again" };
}

export function judgeVersions(own: string, api: string): Check {
  const versions = { check: "versions", found: `this program ${own}, the API ${api}` };
  if (own === api) return { ...versions, result: "ok" };
  return { ...versions, result: "warning", todo: "install the same version on both sides" };
}

/** ms. An answer's `Date` has whole seconds, and took its time. */
const SKEW_SEEN = 5000;
/** AWS refuses what is signed so much off ("Signature Version 4 signing", IAM User Guide). */
const SKEW_REFUSED = 300_000;

/** `skew`: how far this machine's clock is ahead of the API's, ms. NaN: nobody knows. */
export function judgeClock(skew: number): Check {
  if (Number.isNaN(skew)) {
    const todo = "see whether what answers is the API";
    return { check: "clock", result: "warning", found: "the API does not say its time", todo };
  }
  const seconds = Math.floor(Math.abs(skew) / 1000);
  const found = seconds === 0 ? "as the API's" : `${seconds} s ${skew > 0 ? "ahead of" : "behind"} the API's`;
  if (Math.abs(skew) <= SKEW_SEEN) return { check: "clock", result: "ok", found };
  const todo = "set this machine's clock: AWS refuses signatures that are five minutes off";
  return { check: "clock", result: Math.abs(skew) < SKEW_REFUSED ? "warning" : "failed", found, todo };
}

/** s. A tick a minute, and some time for it. */
const USUAL_LAG = 90;

export function judgeSweep(topics: readonly TopicReport[]): Check {
  const lag = Math.max(0, ...topics.map(({ sweepLag }) => sweepLag));
  const sweep = { check: "sweep", found: `${Math.round(lag)} s behind its horizon` };
  if (lag <= USUAL_LAG) return { ...sweep, result: "ok" };
  const todo = "see the tick's log, and whether its rule is enabled";
  // Further behind jobs are handed over after they are due.
  return { ...sweep, result: lag * 1000 < LOOKAHEAD ? "warning" : "failed", todo };
}

/** Messages that wait while none is with a consumer. */
const MANY_WAIT = 100;

export const DEAD_COUNTED = 100;

/** A topic with its dead jobs, counted up to `DEAD_COUNTED` if that went well. Of an untracked one nobody knows but its DLQ. */
export type ExaminedTopic = TopicReport & { readonly deadJobs?: PromiseSettledResult<number> };

/** A check for each topic that somebody should look at, else one for all. */
export function judgeTopics(topics: readonly ExaminedTopic[]): Check[] {
  if (topics.length === 0) {
    return [{ check: "topics", result: "warning", found: "there is none", todo: "name some in the app" }];
  }
  const troubles = topics.flatMap((examined) => {
    const { topic, pause } = examined;
    const { ready, inFlight } = examined.depths;
    const of = { check: `topic ${topic}`, result: "warning" } as const;
    return [
      ...judgeDead(examined).map((dead) => ({ ...of, ...dead })),
      ...(pause?.state === "paused"
        ? [{ ...of, found: `paused since ${pause.since}`, todo: `minutehand resume ${topic}` }]
        : []),
      ...(pause === undefined && ready >= MANY_WAIT && inFlight === 0
        ? [{ ...of, found: `${many(ready, "message")} that nobody receives`, todo: "see its consumer" }]
        : []),
    ];
  });
  if (troubles.length > 0) return troubles;
  return [{ check: "topics", result: "ok", found: `${many(topics.length, "topic")}, no dead jobs` }];
}

/** A dead job outlives its dead letter, which SQS keeps for 14 days. */
function judgeDead({ topic, depths, deadJobs }: ExaminedTopic): Pick<Check, "found" | "todo">[] {
  if (deadJobs === undefined) {
    return depths.dead === 0 ? [] : [{ found: many(depths.dead, "dead letter"), todo: "see its DLQ" }];
  }
  if (deadJobs.status === "rejected") {
    return [{ found: `dead jobs not counted: ${messageOf(deadJobs.reason)}` }];
  }
  const { value } = deadJobs;
  if (value === 0) return [];
  const found = value < DEAD_COUNTED ? many(value, "dead job") : `${DEAD_COUNTED} or more dead jobs`;
  return [{ found, todo: `minutehand dead ${topic}, then redrive` }];
}

/** SQS starts so many batches of a function at first ("Configuring scaling behavior for SQS event source mappings"). */
const BATCHES_AT_FIRST = 5;
/** The tick, promotions, occurrences, and calls of the API. */
const OTHERS = 10;

/** `free`: how many functions may run at once. */
export function judgeConcurrency(free: number, topics: readonly TopicReport[]): Check {
  const run = topics.filter(({ policy }) => policy.consumer !== "pull").length;
  const needed = run * BATCHES_AT_FIRST + OTHERS;
  const found = `${free.toLocaleString("en")} functions may run at once, ${needed} are wanted for ${many(run, "topic")}`;
  if (free >= needed) return { check: "concurrency", result: "ok", found };
  const todo = "ask for more of Lambda's quota L-B99A9384 (Concurrent executions)";
  return { check: "concurrency", result: "warning", found, todo };
}
