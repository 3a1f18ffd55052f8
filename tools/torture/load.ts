import { NEAR } from "../../src/core/constants.ts";
import { between, pick, type Random } from "./random.ts";

export const TOPICS = ["reminders", "precise", "work", "events"] as const;
export type Topic = (typeof TOPICS)[number];
/** The topic of `tracking: "none"`. */
export const UNTRACKED: Topic = "events";

export type Plan = {
  /** ms that the handler takes. */
  readonly takes: number;
  /** Whether its first attempt fails. */
  readonly fails: boolean;
};

export type Body = Plan & { readonly n: number; readonly version: number };

export type PlannedJob = Plan & {
  readonly n: number;
  readonly topic: Topic;
  /** How long after the request's first try the job is due, in ms. */
  readonly delay: number;
  readonly keyed: boolean;
};

/** A request. Its producer sends it not earlier than `at` ms from the beginning, and only after its earlier requests were answered. */
export type Request = { readonly at: number } & (
  | { readonly kind: "create"; readonly jobs: readonly PlannedJob[] }
  | {
      readonly kind: "reschedule" | "replace";
      readonly n: number;
      readonly version: number;
      readonly delay: number;
    }
  | { readonly kind: "cancel"; readonly n: number; readonly version: number }
);

export type LoadOptions = {
  readonly jobs: number;
  /** Over how many ms the jobs are filed. */
  readonly ms: number;
  readonly producers: number;
  readonly random: Random;
};

/** A job that is due later than this is handed over by a sweep, and any other job by its writer: ms. */
const SWEPT_MS = NEAR;
const LONGEST_MS = SWEPT_MS + 30_000;
/** Jobs that are filed in the second half of the run are due within this time. */
const LATER_MS = 120_000;
const BATCH = { least: 5, most: 25 };

export function planLoad({ jobs, ms, producers, random }: LoadOptions): Request[][] {
  const plans: Request[][] = Array.from({ length: producers }, () => []);
  for (let n = 0; n < jobs; ) {
    const at = (n / jobs) * ms;
    const plan = plans[Math.floor(random() * producers)] ?? [];
    const size = random() < 0.35 ? 1 : Math.floor(between(random, BATCH.least, BATCH.most + 1));
    const batch = Array.from({ length: Math.min(size, jobs - n) }, (_, i) =>
      planJob(n + i, size === 1, at / ms, random),
    );
    plan.push({ kind: "create", at, jobs: batch });
    for (const job of batch) plan.push(...planChanges(job, at, lastDue(ms), random));
    n += batch.length;
  }
  return plans.map((plan) => plan.sort((a, b) => a.at - b.at));
}

/** `progress`: how much of the run has passed, 0 to 1. */
function planJob(n: number, single: boolean, progress: number, random: Random): PlannedJob {
  const topic = pick(random, [
    ["reminders", 45],
    ["precise", 15],
    ["work", 30],
    [UNTRACKED, 10],
  ] as const);
  return {
    n,
    topic,
    delay: planDelay(progress, random),
    keyed: single && topic !== UNTRACKED && random() < 0.4,
    takes: pick(random, [
      [0, 35],
      [20, 35],
      [300, 22],
      [3_000, 8],
    ]),
    // An untracked job has no attempts: after a failure SQS delivers the same message again.
    fails: topic !== UNTRACKED && random() < 0.05,
  };
}

/** Delays that need a sweep occur in the first half only, so that the sweep hands these jobs over while faults still happen. */
function planDelay(progress: number, random: Random): number {
  const [low, high] = pick(random, [
    [[0, 0], 10],
    [[1_000, 30_000], 50],
    [[30_000, progress < 0.5 ? SWEPT_MS : LATER_MS], 20],
    [[SWEPT_MS + 5_000, LONGEST_MS], progress < 0.5 ? 20 : 0],
  ] as const);
  return Math.round(between(random, low, high));
}

/** When the last job is due, in ms from the beginning. No change moves a job past that time. */
function lastDue(ms: number): number {
  return Math.max(ms / 2 + LONGEST_MS, ms + LATER_MS);
}

function planChanges(job: PlannedJob, at: number, end: number, random: Random): Request[] {
  if (job.topic === UNTRACKED || random() > 0.2) return [];
  const requests: Request[] = [];
  let from = at;
  let due = at + job.delay;
  for (let version = 1; version < 4; version++) {
    // Most changes come while the job waits, and some at about the time when it runs.
    const when = between(random, from, due + 2_000);
    const kind = pick(random, [
      ["cancel", 35],
      ["reschedule", 40],
      [job.keyed ? "replace" : "reschedule", 25],
    ] as const);
    if (kind === "cancel") return [...requests, { kind, at: when, n: job.n, version }];
    const delay = Math.round(between(random, 0, Math.min(job.delay, 60_000) + 2_000));
    if (when + delay > end) break;
    requests.push({ kind, at: when, n: job.n, version, delay });
    if (random() < 0.6) break;
    from = when;
    due = when + delay;
  }
  return requests;
}
