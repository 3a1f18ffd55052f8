import { BACKLOG_SOON, DAY, USUAL_LAG } from "../core/constants.ts";
import { auditAgainAfter } from "../core/look-again.ts";
import { THROTTLED } from "../core/thrown.ts";
import type { JobJson, JobSummary } from "../http/answers/jobs.ts";
import type { TopicJson } from "../http/answers/topics.ts";
import { actorText } from "./actor-text.ts";
import { isHolding, type Pause } from "./holding.ts";

/** The parts of one or two sentences. Times stand apart, because the page and the command line write them in different ways. */
export type Why = readonly (string | Date)[];
type Job = Pick<JobSummary, "topic" | "state" | "dueAt" | "attempt" | "maxAttempts"> &
  Partial<JobSummary> &
  Partial<Pick<JobJson, "timeline">>;
type Topic = Pick<TopicJson, "topic" | "policy" | "depths" | "sweepLag" | "pause">;
type Event = JobJson["timeline"][number];

/** Characters of an error in a sentence. The whole error stands elsewhere. */
const ERROR_LENGTH = 120;

/**
 * Says why a job has not run, or how it has ended. `topic`: absent if it could not be read; the answer then says less. `now`: ms since the
 * epoch.
 */
export function whyNotRun(job: Job, topic: Topic | "undeclared" | undefined, now: number): Why {
  if (topic !== "undeclared") return WHYS[job.state](job, topic, now);
  if (job.state !== "scheduled") return WHYS[job.state](job, undefined, now);
  return [
    `The queue has no topic ${job.topic} any more, so the job does not run. It will be dead an hour after it is due, unless the topic is declared again.`,
  ];
}

const WHYS: Readonly<Record<Job["state"], (job: Job, topic: Topic | undefined, now: number) => Why>> = {
  scheduled: whyWaiting,
  running: whyRunning,
  done: ({ attempt, claimedAt, finishedAt }) => [
    `It has run: attempt ${attempt}`,
    ...(claimedAt === undefined ? [] : [" started ", new Date(claimedAt), " and"]),
    " was done",
    ...part(" ", finishedAt),
    ".",
  ],
  dead: whyDead,
  expired: (job) => {
    const why = quoted(lastOf(job, "expired")?.error ?? job.lastError);
    const rule = "it became later than its own rule or its topic's rule allows";
    return ["It did not run, because it expired", ...part(" ", job.finishedAt), `: ${why ?? rule}.`];
  },
  cancelled: (job) => {
    const by = lastOf(job, "cancelled")?.by;
    return ["It will not run: it was cancelled", ...part(" ", job.finishedAt), `${byText(by)}.`];
  },
  "handed-off": () => [
    "Its message was handed to the queue. The topic is untracked, so nobody knows whether the job has run.",
  ],
};

function whyRunning({ attempt, maxAttempts, claimedAt, leaseUntil }: Job, _: unknown, now: number): Why {
  const running = [`Attempt ${attempt} of ${maxAttempts} is running`, ...since(claimedAt), "."];
  if (leaseUntil === undefined) return running;
  const lease = new Date(leaseUntil);
  // The API calls a job running until some seconds after the end of its lease.
  if (lease.getTime() <= now)
    return [
      ...running,
      " Nothing was heard of the run until its lease ended ",
      lease,
      ", so the job soon runs again.",
    ];
  return [...running, " If nothing is heard of the run until ", lease, ", the job runs again."];
}

function whyWaiting(job: Job, topic: Topic | undefined, now: number): Why {
  const { dueAt, heldUntil = dueAt } = job;
  if (topic && isHolding(topic.pause) && (job.held || topic.pause.state === "paused"))
    return [...dueText(job, now), ...pauseText(topic.topic, topic.pause)];
  if (job.held) return [...dueText(job, now), ...whyHeld(job, topic, now)];
  const last = job.timeline?.at(-1);
  // The API calls a job scheduled whose run has lost its lease.
  if (last?.event === "claimed")
    return [
      `Attempt ${job.attempt} started `,
      new Date(last.at),
      ", and then nothing was heard of it: its consumer has ended or stands still. The job runs again as soon as the queue hands out its message again.",
    ];
  if (job.lateSince !== undefined) return whyLate(job.lateSince, topic, now);
  const start = Math.max(Date.parse(dueAt), Date.parse(heldUntil));
  if (start <= now) return ["It was due ", new Date(start), ", so its run begins within seconds."];
  return whyRetrying(job, start, topic) ?? ["It is due later: it starts ", new Date(start), "."];
}

/** `undefined` if no run was begun. */
function whyRetrying(job: Job, start: number, topic: Topic | undefined): Why | undefined {
  const { attempt, maxAttempts, lastError } = job;
  if (isThrottled(job))
    return [
      `Attempt ${attempt + 1} of ${maxAttempts} could not begin`,
      ...part(" ", lastOf(job, "failed")?.at),
      `, because the topic's target is throttled: ${quoted(lastError?.slice(THROTTLED.length))}. The target is called again `,
      new Date(start),
      ".",
    ];
  if (attempt === 0) return undefined;
  const [failed, asked] = [lastOf(job, "failed"), lastOf(job, "asked-to-retry")];
  const next = [` Attempt ${attempt + 1} starts `, new Date(start), "."];
  if (asked !== undefined && (failed === undefined || failed.at < asked.at))
    return [`The handler of attempt ${attempt} asked `, new Date(asked.at), " to run again.", ...next];
  const error = quoted(lastError ?? failed?.error);
  return [
    `Attempt ${attempt} of ${maxAttempts} failed`,
    ...part(" ", failed?.at),
    error === undefined ? "." : `: ${error}.${secretHint(error, topic)}`,
    ...next,
  ];
}

/** Whether the target of the topic was too busy for the last run. Such a run is no attempt. */
function isThrottled(job: Job): boolean {
  if (!job.retrying || !job.lastError?.startsWith(THROTTLED)) return false;
  const failed = lastOf(job, "failed");
  // The handler of a counted attempt may say the same words.
  return failed?.attempt === undefined || failed.attempt > job.attempt;
}

/** Says when the job was or is due, if something else keeps it from starting. */
function dueText({ dueAt, attempt }: Job, now: number): Why {
  const what = attempt === 0 ? "It" : `Its attempt ${attempt + 1}`;
  return [`${what} ${Date.parse(dueAt) > now ? "is" : "was"} due `, new Date(dueAt), ". "];
}

function pauseText(topic: string, { state, since: at, by, ratePerSecond, parked }: Pause): Why {
  if (state === "paused")
    return [
      `The topic ${topic} has been paused since `,
      new Date(at),
      `${byText(by)}, so the job starts after somebody resumes the topic.`,
    ];
  const rate = ratePerSecond === undefined ? "" : ` at ${ratePerSecond} jobs a second`;
  // The API counts up to 1,000.
  const many = parked >= 1000 ? "1,000 or more" : String(parked);
  return [
    `The topic ${topic} is being resumed${rate}, and ${many} ${parked === 1 ? "job waits" : "jobs wait"}, so the job starts at its turn.`,
  ];
}

function whyHeld(job: Job, topic: Topic | undefined, now: number): Why {
  const { maxPerSecond, window } = topic?.policy ?? {};
  const limit =
    maxPerSecond === undefined
      ? `It waits behind the limit of its topic`
      : `It waits behind the limit of its topic, ${maxPerSecond} jobs a second`;
  const shut = `The window of its topic${window === undefined ? "" : ` (${window})`} is shut`;
  if (job.heldUntil !== undefined && Date.parse(job.heldUntil) > now) {
    const by = lastOf(job, "held")?.by?.kind;
    const texts = { limit, window: shut, pause: turnText(topic) };
    const text = texts[by as keyof typeof texts] ?? "A pause, a limit or a window of its topic holds it";
    return [`${text}: it starts `, new Date(job.heldUntil), "."];
  }
  if (maxPerSecond !== undefined) return [`${limit}: the jobs before it start first.`];
  if (window !== undefined) return [`${shut}: it starts when the window opens.`];
  return ["A pause or a resume of its topic holds it."];
}

/** After a resume, the rate of the resume or the limit of the topic spreads the starts. A resume that is over has no rate here. */
function turnText(topic: Topic | undefined): string {
  const { maxPerSecond } = topic?.policy ?? {};
  const rate = topic?.pause?.ratePerSecond;
  const at = rate === undefined ? "" : ` at ${rate} jobs a second`;
  const behind = maxPerSecond === undefined ? "" : ` behind the limit of ${maxPerSecond} jobs a second`;
  return `The resume of its topic${at} has given it its turn${at === "" ? behind : ""}`;
}

function whyLate(lateSince: string, topic: Topic | undefined, now: number): Why {
  const late = now - Date.parse(lateSince);
  return ["It is late: it could start since ", new Date(lateSince), `. ${consumerText(topic, late)}`];
}

/** `late`: ms. */
function consumerText(topic: Topic | undefined, late: number): string {
  if (topic === undefined) return "Its consumer is slow or does not run.";
  const { sweepLag, depths, policy } = topic;
  const { ready, inFlight } = depths;
  if (sweepLag * 1000 > USUAL_LAG)
    return `The sweep is ${Math.round(sweepLag)} s behind, so perhaps its message is not sent yet. Look at the sweep's function.`;
  if (ready + inFlight === 0) return `No message waits in the topic's queue. ${auditText(late)}`;
  const waiting = `${ready} ${ready === 1 ? "message waits" : "messages wait"} in the topic's queue`;
  if (policy.consumer === "pull")
    return ready === 0
      ? "Its worker has received all messages, and has not said that it began the job."
      : `It waits for a worker: ${waiting}, and no worker receives them, or the workers are too slow.`;
  if (policy.consumer === "lambda" && inFlight === 0)
    return `It waits for the topic's function: ${waiting}, and none is in flight. The topic has no handler, or its function is throttled.`;
  const what = policy.consumer === "webhook" ? "its receiver" : "its handler";
  return `It waits for the topic's function: ${waiting}, and ${inFlight} ${inFlight === 1 ? "is" : "are"} in flight. The function is throttled or fails, or ${what} is too slow.`;
}

/** `late`: ms. */
function auditText(late: number): string {
  const lost = "If its message was lost, an audit sends it again";
  if (late < BACKLOG_SOON) return `${lost}, usually 7 to 15 minutes after the job could start.`;
  const hours = (24 * auditAgainAfter(late)) / DAY;
  return `${lost} at its next check. A job that is so late is checked every ${hours === 1 ? "hour" : `${hours} hours`}.`;
}

function whyDead(job: Job, topic: Topic | undefined): Why {
  const { attempt, maxAttempts, finishedAt } = job;
  const death = lastOf(job, "dead");
  const error = quoted(job.lastError ?? death?.error);
  const why = error === undefined ? "" : `: ${error}`;
  const isRun = death === undefined ? attempt > 0 : death.attempt !== undefined;
  const how = !isRun
    ? ", because its message could not be delivered"
    : attempt >= maxAttempts
      ? `, because ${attempt === 1 ? "its only attempt" : `all ${attempt} attempts`} failed`
      : `, because its consumer gave it up in attempt ${attempt} of ${maxAttempts}`;
  return [
    "It is dead",
    ...since(finishedAt),
    `${how}${why}.${secretHint(error, topic)} Mend the cause, then redrive the job.`,
  ];
}

/** A receiver of webhooks answers 401 if it has another secret. */
function secretHint(error = "", topic: Topic | undefined): string {
  if (topic?.policy.consumer !== "webhook" || !/^"HTTP 401\b/.test(error)) return "";
  return " The receiver may have another secret than the one of minutehand receiver-secret.";
}

function lastOf({ timeline = [] }: Job, name: Event["event"]): Event | undefined {
  return timeline.findLast(({ event }) => event === name);
}

function part(text: string, at: string | undefined): Why {
  return at === undefined ? [] : [text, new Date(at)];
}

const since = (at: string | undefined): Why => part(" since ", at);

/** The first line of an error, shortened. */
function quoted(error: string | undefined): string | undefined {
  const [line = ""] = (error ?? "").trim().split("\n");
  if (line === "") return undefined;
  return `"${line.length > ERROR_LENGTH ? `${line.slice(0, ERROR_LENGTH)}…` : line}"`;
}

/** ` by a caller (alice), with the reason "a wrong price"` */
function byText(by: Event["by"]): string {
  if (by === undefined) return "";
  const { reason, ...who } = by;
  return ` by ${actorText(who)}${reason === undefined ? "" : `, with the reason ${quoted(reason)}`}`;
}

/** Why no job is found under an id or a key: each can be so. */
export const NEVER_FILED: readonly string[] = [
  "The id or the key has a mistake: both are compared as a whole.",
  "The job was filed in another queue, such as another stack, stage or region.",
  "The call that should file the job failed, or its program has never made the call.",
  "The job has ended, and its topic's retention is over, so it was deleted.",
  "The topic is untracked: its jobs have no key, and those that are due within 210 seconds are not stored.",
];
