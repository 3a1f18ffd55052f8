import { policyOf } from "../../../src/protocol/policy.ts";
import { fileJobs, filePlainly } from "../due-jobs.ts";
import type { Figure } from "../figure.ts";
import { newJobs } from "../jobs.ts";
import { startPlainConsumers } from "../plain-consumers.ts";
import { createQueue } from "../plain-queue.ts";
import type { Rig } from "../rig.ts";
import { greatest, percentile } from "../statistics.ts";
import { type Aim, atMost, inMs, type Row } from "../table.ts";

const A_SECOND = 100;
const SECONDS = 60;
/** The ceiling needs fewer jobs for a stable result. */
const CEILING_SECONDS = 20;
/** Filing begins this long before the first job is due, and takes less time. */
const LEAD_MS = 8_000;
const PATIENCE_MS = 30_000;

/** A topic, and how late its jobs may be, in ms. */
type Topic = { topic: string; precision: string; p50?: number; p99: number };

const TOPICS: readonly Topic[] = [
  { topic: "reminders", precision: "second", p50: 600, p99: 1200 },
  { topic: "precise", precision: "millisecond", p99: 50 },
];

/** Both topics at once. The ceiling gets the same messages in as many processes, holds them until they are due, and claims them plainly. */
export const spread: Figure = {
  name: "spread",
  what: "100 jobs a second for 60 s on a topic of each precision",
  async measure(rig) {
    const seconds = rig.count(SECONDS);
    await Promise.all(TOPICS.map(({ topic }) => latenessOfMinutehand(rig, topic, 2)));
    const own = await Promise.all(TOPICS.map(({ topic }) => latenessOfMinutehand(rig, topic, seconds)));
    const shorter = Math.min(seconds, CEILING_SECONDS);
    const plain = await Promise.all(TOPICS.map(({ topic }) => latenessOfCeiling(rig, topic, shorter)));
    return TOPICS.flatMap((topic, index) => rows(topic, own[index] ?? [], plain[index] ?? []));
  },
};

function jobsOf(topic: string, seconds: number) {
  const start = Date.now() + LEAD_MS;
  const jobs = newJobs(seconds * A_SECOND, topic, (index) => start + (index * 1000) / A_SECOND);
  return { jobs, start, patience: LEAD_MS + seconds * 1000 + PATIENCE_MS };
}

async function latenessOfMinutehand(rig: Rig, topic: string, seconds: number): Promise<number[]> {
  const { jobs, start, patience } = jobsOf(topic, seconds);
  const homes = await fileJobs(rig, jobs);
  assertAhead(start);
  const started = await rig.starts.of(
    homes.map(({ id }) => id),
    patience,
  );
  return homes.map(({ dueAt }, index) => (started[index] ?? Number.NaN) - dueAt);
}

async function latenessOfCeiling(rig: Rig, topic: string, seconds: number): Promise<number[]> {
  const { emulators, stack, ctx } = rig;
  const queueUrl = await createQueue(rig, `bench-spread-${topic}`);
  const processes = Object.entries(stack.functionPids()).find(([id]) => id.includes(topic))?.[1].length ?? 1;
  const slots = policyOf(ctx, topic).concurrency;
  const consumers = startPlainConsumers(processes, { emulators, table: stack.tableName, queueUrl, slots });
  try {
    const { jobs, start, patience } = jobsOf(topic, seconds);
    const homes = await filePlainly(rig, queueUrl, jobs);
    assertAhead(start);
    const ids = homes.map(({ id }) => id);
    const started = await consumers.of(ids, patience);
    return homes.map(({ dueAt }, index) => (started[index] ?? Number.NaN) - dueAt);
  } finally {
    consumers.stop();
  }
}

function assertAhead(start: number): void {
  if (Date.now() >= start) throw new Error("the first jobs fell due while they were filed: try again");
}

function rows({ precision, p50, p99 }: Topic, own: readonly number[], plain: readonly number[]): Row[] {
  const early = own.filter((ms) => ms < 0).length;
  const line = (what: string, of: (late: readonly number[]) => number, aim: Aim | undefined): Row => ({
    figure: `spread, ${precision}: lateness ${what}`,
    ours: inMs(of(own)),
    ceiling: inMs(of(plain)),
    ...(aim && { aim }),
  });
  const within = (share: number, most: number | undefined) =>
    most === undefined ? undefined : atMost(percentile(own, share), most, `≤ ${most} ms`);
  return [
    line("p50", (late) => percentile(late, 0.5), within(0.5, p50)),
    line("p99", (late) => percentile(late, 0.99), within(0.99, p99)),
    line("max", greatest, undefined),
    {
      figure: `spread, ${precision}: jobs started early`,
      ours: String(early),
      aim: atMost(early, 0, "0"),
    },
  ];
}
