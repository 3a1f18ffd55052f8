import { aheadText, lengthText } from "../../local/clock-words.ts";
import type { Database } from "../../local/processes/database.ts";
import type { RunnerRecord } from "../../local/runner-record.ts";
import type { DeployedStack, StackReservations } from "../aws/account.ts";
import type { Warmth } from "../aws/warm-table.ts";
import type { TopicReport } from "../client/answers.ts";
import { isHolding } from "../client/holding.ts";
import { lateIn } from "../client/late-in.ts";
import { CLOCK_SKEW_SEEN, LOOKAHEAD, MOST_SWEEPERS, USUAL_LAG } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { many, pausedBy } from "./columns.ts";

/** The result of one check of `doctor`. `todo`: what the user can do if it is not ok. */
export type Check = {
  readonly check: string;
  readonly result: "ok" | "warning" | "failed";
  readonly found: string;
  readonly todo?: string;
};

export function failed(check: string, error: unknown, todo?: string): Check {
  return { check, result: "failed", found: messageOf(error), ...(todo === undefined ? {} : { todo }) };
}

const OLDEST_LOCAL_NODE = 24;

export function judgeNode(version: string): Check {
  const node = { check: "node", found: version };
  if (Number(/^v(\d+)/.exec(version)?.[1]) >= OLDEST_LOCAL_NODE) return { ...node, result: "ok" };
  return { ...node, result: "warning", todo: `minutehand local needs Node ${OLDEST_LOCAL_NODE} or later` };
}

/** `database`: the embedded DynamoDB that `minutehand local` starts without `--database`. */
export function describeDatabase(database: Database): Check {
  const kinds = { native: "native (dynoxide)", portable: "portable: dynoxide is not installed" };
  return { check: "local database", result: "ok", found: kinds[database] };
}

/** A warning for each thing that a runner on this machine warns of. */
export function judgeRunner(runner: RunnerRecord): Check[] {
  return runner.warnings.map((found) => ({ check: "local stack", result: "warning", found }));
}

export function judgeStack(name: string, { status }: DeployedStack): Check {
  const stack = { check: "stack", found: `${name} is ${status}` };
  if (/_IN_PROGRESS$/.test(status))
    return { ...stack, result: "warning", todo: "wait until the deployment has ended" };
  if (/^(CREATE|UPDATE|IMPORT)_COMPLETE$/.test(status)) return { ...stack, result: "ok" };
  if (status === "UPDATE_ROLLBACK_COMPLETE" || status === "IMPORT_ROLLBACK_COMPLETE") {
    const todo = "CloudFormation rolled the last deployment back: see the stack's events, then deploy again";
    return { ...stack, result: "warning", todo };
  }
  return { ...stack, result: "failed", todo: "see the stack's events, then deploy again" };
}

/** The writes of a tracked job while it runs: its claim and its end. */
const WRITES_OF_A_RUN = 2;

/** `busiest`: the jobs of the busiest minute that comes. They count as due evenly in it, and as tracked jobs of up to 1 KB. */
export function judgeWarmth({ write }: Warmth, busiest: number): Check {
  const needed = Math.ceil((busiest * WRITES_OF_A_RUN) / 60);
  const [most, least] = [write, needed].map((units) => units.toLocaleString("en"));
  const found = `the table takes ${most} writes a second at once; the busiest minute of the next hour needs ${least}`;
  if (needed <= write) return { check: "table", result: "ok", found };
  return { check: "table", result: "warning", found, todo: "see minutehand warm --dry-run" };
}

export function judgeVersions(own: string, api: string): Check {
  const versions = { check: "versions", found: `this program ${own}, the API ${api}` };
  if (own === api) return { ...versions, result: "ok" };
  return { ...versions, result: "warning", todo: "install the same version here and in the stack" };
}

/** ms. AWS refuses a signature whose time is wrong by more than this ("Signature Version 4 signing", IAM User Guide). */
const SKEW_REFUSED = 300_000;

/** `skew`: how far this machine's clock is ahead of the API's, ms. NaN: the answer has no `Date` header. `ahead`: how far a local stack's clock was moved, ms. */
export function judgeClock(skew: number, ahead: number): Check {
  const moved = aheadText(ahead);
  if (moved !== undefined) {
    const found = `the local stack's clock is at ${moved} of this machine's: see minutehand clock`;
    return { check: "clock", result: "ok", found };
  }
  if (Number.isNaN(skew)) {
    const todo = "check that this URL is the API's";
    return { check: "clock", result: "warning", found: "the answer has no Date header", todo };
  }
  const apart = Math.floor(Math.abs(skew) / 1000) * 1000;
  const found =
    apart === 0 ? "same time as the API" : `${lengthText(apart)} ${skew > 0 ? "ahead of" : "behind"} the API`;
  if (Math.abs(skew) <= CLOCK_SKEW_SEEN) return { check: "clock", result: "ok", found };
  const todo = "set this machine's clock: AWS refuses a signature whose time is wrong by five minutes";
  return { check: "clock", result: Math.abs(skew) < SKEW_REFUSED ? "warning" : "failed", found, todo };
}

export function isBehind(lag: number): boolean {
  return lag * 1000 > USUAL_LAG;
}

/** How far the sweep is behind. `lag`: in s. Up to `USUAL_LAG` a sweep is on time, because the cursor of an idle shard is written every second minute. */
export function sweepText(lag: number): string {
  return isBehind(lag) ? `${lengthText(lag * 1000)} behind` : "on time";
}

export function judgeSweep(topics: readonly TopicReport[]): Check {
  const lag = Math.max(0, ...topics.map(({ sweepLag }) => sweepLag));
  const sweep = { check: "sweep", found: sweepText(lag) };
  if (!isBehind(lag)) return { ...sweep, result: "ok" };
  const todo = "see the tick's log, and check that the tick's rule is enabled";
  // A sweep that is `LOOKAHEAD` or more behind sends jobs after they are due.
  return { ...sweep, result: lag * 1000 < LOOKAHEAD ? "warning" : "failed", todo };
}

/** A tick and a busy consumer alone do not make a job so late: ms. */
const MUCH_TOO_LATE = 120_000;

/** If this many messages wait and none is in flight, the topic probably has no working consumer. */
const MANY_WAIT = 100;

export const DEAD_COUNTED = 100;

/** `deadJobs`: counted up to `DEAD_COUNTED`, or the error. Absent for an untracked topic, whose dead jobs are only in its DLQ. */
export type ExaminedTopic = TopicReport & {
  readonly deadJobs?: PromiseSettledResult<number>;
};

/** A warning for each trouble of a topic, or one check that is ok if there is none. */
export function judgeTopics(topics: readonly ExaminedTopic[]): Check[] {
  if (topics.length === 0) {
    return [
      { check: "topics", result: "warning", found: "the queue has no topic", todo: "add topics in the app" },
    ];
  }
  const troubles = topics.flatMap((examined) => {
    const { topic, pause } = examined;
    const { ready, inFlight } = examined.depths;
    const isHeld = isHolding(pause);
    const isUnread = !isHeld && ready >= MANY_WAIT && inFlight === 0;
    const of = { check: `topic ${topic}`, result: "warning" } as const;
    return [
      ...judgeDead(examined).map((dead) => ({ ...of, ...dead })),
      ...judgePause(examined).map((paused) => ({ ...of, ...paused })),
      ...(isUnread
        ? [
            {
              ...of,
              found: `${many(ready, "message")} wait, and no consumer receives them`,
              todo: "see the consumer's log",
            },
          ]
        : []),
      ...(isUnread ? [] : judgeLate(examined).map((late) => ({ ...of, ...late }))),
    ];
  });
  if (troubles.length > 0) return troubles;
  const found = `${many(topics.length, "topic")}, no dead jobs${lateText(topics)}${sampledText(topics)}`;
  return [{ check: "topics", result: "ok", found }];
}

function judgePause({ topic, pause }: TopicReport): Pick<Check, "found" | "todo">[] {
  if (pause?.state !== "paused") return [];
  return [{ found: `paused since ${pause.since}${pausedBy(pause)}`, todo: `minutehand resume ${topic}` }];
}

/** Counts the late jobs that are no trouble yet. */
function lateText(topics: readonly TopicReport[]): string {
  const late = topics.flatMap(lateIn);
  const count = late.reduce((sum, one) => sum + one.count, 0);
  if (count === 0) return "";
  return late.some(({ atLeast }) => atLeast) ? `, at least ${count} late` : `, ${count} late`;
}

/** Says that a late job may be missing, if the API has not looked at all jobs. The API of an earlier version counts none. */
function sampledText(topics: readonly TopicReport[]): string {
  const [first] = topics.flatMap(({ sampledSince }) => sampledSince ?? []).sort();
  if (first !== undefined) return `; of the jobs that were due since ${first}, only a part was looked at`;
  return topics.some(({ late }) => late?.atLeast) ? "; not all jobs were looked at, so some may be late" : "";
}

/** Judges by the API's clock, because the API counts by it too. */
function judgeLate(report: TopicReport): Pick<Check, "found" | "todo">[] {
  return lateIn(report).flatMap(({ count, atLeast, since = report.at }) => {
    if (Date.parse(report.at) - Date.parse(since) < MUCH_TOO_LATE) return [];
    const jobs = atLeast ? `at least ${many(count)}` : many(count);
    const verb = count === 1 && !atLeast ? "is" : "are";
    const found = `${jobs} ${verb} late, the oldest since ${since}, and nobody runs them`;
    return [{ found, todo: todoForLate(report) }];
  });
}

function todoForLate({ policy }: TopicReport): string {
  if (policy.consumer === "pull") return "start a worker that receives the topic's jobs";
  return "check that the topic has a consumer whose handler is wrapped with consumer(…), and see its log";
}

/** Dead jobs of a tracked topic, because SQS keeps a dead letter for only 14 days. Dead letters of an untracked topic. */
function judgeDead({ topic, depths, deadJobs }: ExaminedTopic): Pick<Check, "found" | "todo">[] {
  if (deadJobs === undefined) {
    return depths.dead === 0
      ? []
      : [{ found: many(depths.dead, "dead letter"), todo: "read the messages in its DLQ" }];
  }
  if (deadJobs.status === "rejected") {
    return [{ found: `the dead jobs could not be counted: ${messageOf(deadJobs.reason)}` }];
  }
  const { value } = deadJobs;
  if (value === 0) return [];
  const found = value < DEAD_COUNTED ? many(value, "dead job") : `${DEAD_COUNTED} or more dead jobs`;
  return [{ found, todo: `minutehand dead ${topic}, then redrive` }];
}

/** Lambda begins with this many batches for an SQS queue ("Configuring scaling behavior for SQS event source mappings"). */
const BATCHES_AT_FIRST = 5;
/** How many invocations a provisioned poller runs at once, according to the same page of AWS's documentation. */
const BATCHES_OF_A_POLLER = 10;
/** Room for the tick, promotions, occurrences, and calls of the API. */
const OTHERS = 10;

/**
 * `free`: the account's unreserved concurrency. `reserved`: what the stack reserves; absent: the stack is unknown. A topic counts with its
 * first batches, because Lambda adds others only slowly, but with all batches of its `pollers`, which Lambda adds at once. Each batch of a
 * topic with a target also takes an execution of the target for each job that it runs at once.
 */
export function judgeConcurrency(
  free: number,
  topics: readonly TopicReport[],
  { mostPollers, sweepers, targetTopics }: StackReservations = {
    ...{ mostPollers: [], sweepers: MOST_SWEEPERS, targetTopics: [] },
  },
): Check {
  const run = topics.filter(({ policy }) => policy.consumer !== "pull").length;
  const polled = mostPollers.reduce((sum, most) => sum + most * BATCHES_OF_A_POLLER, 0);
  const first = Math.max(run - mostPollers.length, 0) * BATCHES_AT_FIRST;
  const targets = topics.filter(({ topic }) => targetTopics.includes(topic));
  const executions = targets.reduce((sum, { policy }) => sum + policy.concurrency * BATCHES_AT_FIRST, 0);
  const needed = first + polled + executions + OTHERS + sweepers;
  const users = [
    many(run, "topic"),
    ...(targets.length > 0 ? [many(targets.length, "target")] : []),
    ...(sweepers > 0 ? ["a tick with a backlog"] : []),
  ].join(" and ");
  const found = `the account can run ${free.toLocaleString("en")} functions at once; ${users} can need ${needed.toLocaleString("en")}`;
  if (free >= needed) return { check: "concurrency", result: "ok", found };
  const lower = [
    ...(polled > 0 ? ["`max` of the pollers"] : []),
    ...(executions > 0 ? ["`concurrency` of the topics with targets"] : []),
  ].map((what) => `, or lower ${what}`);
  const todo = `ask AWS to raise Lambda's quota L-B99A9384 (Concurrent executions)${lower.join("")}`;
  return { check: "concurrency", result: "warning", found, todo };
}
