import { lengthText } from "../../local/clock-words.ts";
import type { JobSummary } from "../client/answers.ts";
import type { Client } from "../client/client.ts";
import { LATE_AFTER, NEAR_BY_ANY_CLOCK } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { percentile } from "../general/percentile.ts";
import { allOf } from "./lists.ts";

const SECOND = 1000;

/** A promise that `prove` checks. `due`: in how many ms the first job and the last job are due. */
type Part = {
  readonly what: string;
  readonly due: readonly [first: number, last: number];
  readonly isKept: (job: JobSummary) => boolean;
  readonly isCancelled?: true;
  /** The jobs have the body with which the handler fails. */
  readonly fails?: true;
};

const SOON = [20 * SECOND, 50 * SECOND] as const;
/** Later, so that there is time to cancel all of them. Their messages wait in SQS already. */
const CANCELLED = [60 * SECOND, 90 * SECOND] as const;
/** The filing may take some seconds, and the writer must not send these jobs itself. */
const SWEPT = [NEAR_BY_ANY_CLOCK + 20 * SECOND, NEAR_BY_ANY_CLOCK + 50 * SECOND] as const;

const PARTS: readonly Part[] = [
  { what: "on time, filed shortly before due", due: SOON, isKept: ranAtOnce },
  { what: "on time, sent by the tick", due: SWEPT, isKept: ranAtOnce },
  { what: "cancelled, and never run", due: CANCELLED, isCancelled: true, isKept: wasNeverRun },
  { what: "run again after a failure", due: SOON, fails: true, isKept: ranAgain },
];

function ranAtOnce(job: JobSummary): boolean {
  return isOnTime(job) && job.attempt === 1;
}

function ranAgain(job: JobSummary): boolean {
  return isOnTime(job) && job.attempt > 1;
}

/** The time is the one from which the API calls a waiting job late. A cold start of the handler lies within it. */
function isOnTime(job: JobSummary): boolean {
  return job.state === "done" && lateness(job) <= LATE_AFTER;
}

/** How long after its due time the last run of a job started: ms. */
function lateness({ claimedAt = "", dueAt }: JobSummary): number {
  return Date.parse(claimedAt) - Date.parse(dueAt);
}

function wasNeverRun({ state, claimedAt }: JobSummary): boolean {
  return state === "cancelled" && claimedAt === undefined;
}

/** How long after its due time a job may take to end: ms. The first retry comes after 15 s by default. */
const PATIENCE = 120 * SECOND;
const LOOK_EVERY = 5 * SECOND;

/** More than a tracked job of any workload of the bill that a function runs, in dollars. */
export const DOLLARS_A_JOB = 10e-6;
/** More than what the calls that read the jobs cost, in dollars. */
const DOLLARS_FOR_LOOKS = 0.001;

export type Plan = {
  readonly topic: string;
  readonly jobs: number;
  readonly body: unknown;
  /** A body with which the handler fails in the first attempt, and succeeds later. */
  readonly failing?: { readonly body: unknown };
};

export type Surroundings = { readonly clock: () => number; readonly wait: (ms: number) => Promise<void> };

/** The result of a part. Lateness is in ms, from `dueAt` to the start of the last run. */
export type Proof = {
  readonly what: string;
  readonly jobs: number;
  readonly kept: number;
  readonly median?: number;
  readonly p99?: number;
  readonly most?: number;
};

/** How many jobs a plan files, how many of them run, and at most how many dollars AWS charges for them. */
export function extentOf(plan: Plan): { filed: number; run: number; dollars: number } {
  const parts = partsOf(plan);
  const filed = parts.length * plan.jobs;
  const run = filed - parts.filter(({ isCancelled }) => isCancelled).length * plan.jobs;
  const dollars = Math.ceil((filed * DOLLARS_A_JOB + DOLLARS_FOR_LOOKS) * 100) / 100;
  return { filed, run, dollars };
}

export type Run = {
  /** Files the jobs and waits until all have ended, or until the patience is over. */
  readonly prove: (onProgress: (text: string) => void) => Promise<Proof[]>;
  /** Cancels the jobs of this run that still wait, and answers how many. */
  readonly remove: () => Promise<number>;
};

export function startRun(api: Client, plan: Plan, { clock, wait }: Surroundings): Run {
  const began = clock();
  const parts = partsOf(plan).map((part, i) => ({ ...part, tag: `minutehand-prove-${began}-${i}` }));
  const last = Math.max(...parts.map(({ due }) => began + due[1]));
  const range = { from: new Date(began), to: new Date(last + 2 * PATIENCE) };
  let filing: Promise<unknown> = Promise.resolve();
  const cancel = async (tag: string): Promise<number> =>
    (await api.bulk({ action: "cancel", topic: plan.topic, tag, ...range })).changed;
  const look = (): Promise<JobSummary[][]> =>
    Promise.all(parts.map(({ tag }) => allOf(api.list({ topic: plan.topic, tag, ...range }))));
  return {
    async prove(onProgress) {
      filing = Promise.all(parts.map((part) => file(api, plan, part, began)));
      await filing;
      for (const { tag } of parts.filter(({ isCancelled }) => isCancelled)) await cancel(tag);
      for (let now = clock(); now < last; now = clock()) {
        onProgress(`the last job is due in ${lengthText(Math.ceil((last - now) / SECOND) * SECOND)}`);
        await wait(Math.min(LOOK_EVERY, last - now));
      }
      let found = await look();
      while (!found.every((jobs) => hasEnded(jobs, plan.jobs)) && clock() < last + PATIENCE) {
        onProgress("waiting for the last jobs to end");
        await wait(LOOK_EVERY);
        found = await look();
      }
      return parts.map((part, i) => proofOf(part, plan.jobs, found[i] ?? []));
    },
    async remove() {
      // A call that files jobs may still be under way.
      await filing.catch(() => {});
      const removed = await Promise.all(parts.map(({ tag }) => cancel(tag)));
      return removed.reduce((sum, count) => sum + count, 0);
    },
  };
}

function partsOf({ failing }: Plan): Part[] {
  return PARTS.filter(({ fails }) => !fails || failing !== undefined);
}

async function file(
  api: Client,
  { topic, jobs, body, failing }: Plan,
  { due: [first, last], tag, fails }: Part & { tag: string },
  began: number,
): Promise<void> {
  const step = (last - first) / jobs;
  const filed = await api.enqueueMany(
    Array.from({ length: jobs }, (_, i) => ({
      topic,
      body: fails ? failing?.body : body,
      dueAt: new Date(began + first + Math.round(i * step)),
      tag,
      // The topic may spread its jobs.
      spread: 0,
    })),
  );
  for (const one of filed) if (one instanceof MinutehandError) throw one;
}

function hasEnded(jobs: readonly JobSummary[], filed: number): boolean {
  return jobs.length === filed && jobs.every(({ finishedAt }) => finishedAt !== undefined);
}

function proofOf({ what, isKept, isCancelled }: Part, jobs: number, found: readonly JobSummary[]): Proof {
  const kept = found.filter(isKept).length;
  const ran = found.filter(({ state }) => state === "done");
  if (isCancelled || ran.length === 0) return { what, jobs, kept };
  const late = ran.map(lateness).sort((one, other) => one - other);
  const at = (share: number) => percentile(late, share);
  return { what, jobs, kept, median: at(0.5), p99: at(0.99), most: at(1) };
}
