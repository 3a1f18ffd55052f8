import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../../../src/core/home.ts";
import type { NewJob } from "../../../src/protocol/new-job.ts";
import { policyOf } from "../../../src/protocol/policy.ts";
import { fileJobs, filePlainly } from "../due-jobs.ts";
import type { Figure } from "../figure.ts";
import { newJobs } from "../jobs.ts";
import { startPlainConsumers } from "../plain-consumers.ts";
import { createQueue } from "../plain-queue.ts";
import type { Rig } from "../rig.ts";
import { alternate, medianRatio } from "../rounds.ts";
import { greatest, median, percentile } from "../statistics.ts";
import { atLeast, atMost, inMs, inSeconds, perSecond, type Row } from "../table.ts";

const COUNT = 10_000;
const TOPIC = "reminders";
/** How many jobs a second the first try expects to file. All jobs must be filed before they are due. */
const FILING_RATE = 2_500;
const LEAD_MS = 2_000;
const TRIES = 3;
const PATIENCE_MS = 60_000;
const LEAST = 0.8;

/** How late each job started, in ms. */
type Burst = readonly number[];

/**
 * Due in one second, in full packs. The ceiling gets the same messages in as many processes, and claims, settles and deletes in batches.
 * Both run once before, so that no cold start is measured.
 */
export const burst: Figure = {
  name: "burst",
  what: "10,000 jobs due in one second, on a Lambda topic with full packs",
  async measure(rig) {
    const count = rig.count(COUNT);
    const own: Way = { name: "Minutehand", file: (jobs) => fileJobs(rig, jobs), startsOf: rig.starts.of };
    await runBurst(rig, count, own);
    const queueUrl = await createQueue(rig, "bench-burst");
    const consumers = startPlainConsumers(consumerProcesses(rig), {
      emulators: rig.emulators,
      table: rig.stack.tableName,
      queueUrl,
      slots: policyOf(rig.ctx, TOPIC).concurrency,
    });
    const plain: Way = {
      name: "ceiling",
      file: (jobs) => filePlainly(rig, queueUrl, jobs),
      startsOf: consumers.of,
    };
    await runBurst(rig, count, plain);
    const { ours, ceiling } = await alternate(
      rig.rounds,
      () => runBurst(rig, count, own),
      () => runBurst(rig, count, plain),
    );
    consumers.stop();
    return rowsOf(count, ours, ceiling);
  },
};

function rowsOf(count: number, ours: readonly Burst[], ceiling: readonly Burst[]): Row[] {
  const spent = (bursts: readonly Burst[]) => bursts.map(greatest);
  const drained = (bursts: readonly Burst[]) => bursts.map((late) => (late.length / greatest(late)) * 1000);
  const drain = medianRatio(drained(ours), drained(ceiling));
  const early = ours.flat().filter((ms) => ms < 0).length;
  return [
    {
      figure: `burst: ${count.toLocaleString("en")} jobs due at once, until the last starts`,
      ours: inSeconds(median(spent(ours))),
      ceiling: inSeconds(median(spent(ceiling))),
      ratio: medianRatio(spent(ceiling), spent(ours)),
    },
    {
      figure: "burst: drain",
      ours: perSecond(median(drained(ours))),
      ceiling: perSecond(median(drained(ceiling))),
      ratio: drain,
      aim: atLeast(drain, LEAST),
    },
    ...latenessOf(ours, ceiling),
    { figure: "burst: jobs started early", ours: String(early), aim: atMost(early, 0, "0") },
  ];
}

function latenessOf(ours: readonly Burst[], ceiling: readonly Burst[]): Row[] {
  return [0.5, 0.99].map((share): Row => {
    const at = (bursts: readonly Burst[]) => bursts.map((late) => percentile(late, share));
    return {
      figure: `burst: lateness p${share * 100}`,
      ours: inMs(median(at(ours))),
      ceiling: inMs(median(at(ceiling))),
      ratio: medianRatio(at(ceiling), at(ours)),
    };
  });
}

type Way = {
  readonly name: string;
  readonly file: (jobs: readonly NewJob[]) => Promise<Home[]>;
  readonly startsOf: (ids: readonly string[], timeoutMs: number) => Promise<number[]>;
};

/** Files jobs that are due at the same whole second. If they fell due while they were filed, it tries again at half the rate. */
async function runBurst(rig: Rig, count: number, { name, file, startsOf }: Way): Promise<Burst> {
  for (let rate = FILING_RATE, tries = 1; ; rate /= 2, tries++) {
    const dueAt = Math.ceil((Date.now() + LEAD_MS + (count / rate) * 1000) / 1000) * 1000;
    const homes = await file(newJobs(count, TOPIC, () => dueAt));
    const spare = dueAt - Date.now();
    const ids = homes.map(({ id }) => id);
    const started = await startsOf(ids, Math.max(spare, 0) + PATIENCE_MS);
    // The last jobs have started, but their settles and deletes may be in flight.
    await sleep(500);
    rig.progress(`burst: ${name}: ${inSeconds(greatest(started) - dueAt)}, filed ${inSeconds(spare)} before`);
    if (spare > 0) return started.map((at) => at - dueAt);
    if (tries === TRIES) throw new Error(`${count} jobs could not be filed before they fell due`);
  }
}

function consumerProcesses({ stack }: Rig): number {
  const consumer = Object.entries(stack.functionPids()).find(([id]) => id.includes(TOPIC));
  return consumer?.[1].length ?? 1;
}
