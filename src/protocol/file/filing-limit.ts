import { BUCKET, DAY, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError, notFiledError } from "../../core/errors.ts";
import { filedKey, minuteOf, ttl } from "../../core/item-keys.ts";
import { inParallel } from "../../general/batches.ts";
import type { Enqueued, NewJob } from "../new-job.ts";
import { policyOf } from "../policy.ts";
import type { Context, Pool } from "../ports.ts";
import { enqueueMany } from "./enqueue.ts";

/** The minute (ms since the epoch) in which a topic has taken all jobs that it may, as far as this process knows. */
const fullMinutes = new WeakMap<Pool, Map<string, number>>();

/** A job that no earlier call has filed. `at`: its place in the call. */
type Fresh = { readonly job: NewJob; readonly at: number };

/** As `enqueue`, for a call that counts against `maxFiledPerMinute`. @throws also `too-many-filed` */
export async function enqueueCounted(ctx: Context, job: NewJob): Promise<Enqueued> {
  const [result] = (await enqueueManyCounted(ctx, [job])) as [Enqueued | MinutehandError];
  if (result instanceof Error) throw result;
  return result;
}

/**
 * As `enqueueMany`, for a call that counts against `maxFiledPerMinute`. Of a batch, a topic takes the first jobs that it still may take.
 * All processes count in one item for each minute, before they file. So no minute has more jobs than allowed. It has fewer if a job was counted
 * and not filed, if a count's answer was lost, or if repeats came while their first call went on.
 */
export async function enqueueManyCounted(
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<(Enqueued | MinutehandError)[]> {
  const minute = minuteOf(ctx.clock());
  const refusals = refusalsOf(ctx, jobs, minute);
  if (refusals.size === 0) return enqueueMany(ctx, jobs);
  const held = jobs.map((job) => {
    const refusal = job.refusal ?? refusals.get(job.topic);
    return refusal ? { ...job, refusal } : job;
  });
  // A repeat gets the answer of its first call, although its job has a refusal, and is not counted.
  const results = await enqueueMany(ctx, held);
  const fresh = jobs.flatMap((job, at): Fresh[] => {
    return results[at] instanceof Error && results[at] === refusals.get(job.topic) ? [{ job, at }] : [];
  });
  const byTopic = [...Map.groupBy(fresh, ({ job }) => job.topic)];
  const counted = await inParallel(byTopic, byTopic.length, ([topic, some]) =>
    admit(ctx, topic, minute, some),
  );
  for (const { at, error } of counted.flatMap(({ failed }) => failed)) results[at] = error;
  const admitted = counted.flatMap((one) => one.admitted);
  if (admitted.length === 0) return results;
  const filed = await enqueueMany(
    ctx,
    admitted.map(({ job }) => job),
  );
  for (const [i, { at }] of admitted.entries()) results[at] = filed[i] as Enqueued | MinutehandError;
  return results;
}

/** Answers the refusal of each limited topic of these jobs. */
function refusalsOf(
  ctx: Context,
  jobs: readonly NewJob[],
  minute: number,
): ReadonlyMap<string, MinutehandError> {
  const retryAfter = Math.ceil((minute + BUCKET - ctx.clock()) / 1000);
  const topics = [...new Set(jobs.map(({ topic }) => topic))];
  return new Map(
    topics.flatMap((topic): [string, MinutehandError][] => {
      const most = policyOf(ctx, topic).maxFiledPerMinute;
      if (most === undefined) return [];
      const text = `topic ${topic} takes at most ${most} jobs a minute; repeat the call in ${retryAfter} seconds`;
      return [[topic, new MinutehandError("too-many-filed", text, { topic, retryAfter })]];
    }),
  );
}

type Counted = {
  readonly admitted: readonly Fresh[];
  /** Jobs that could not be counted. */
  readonly failed: readonly { readonly at: number; readonly error: MinutehandError }[];
};

async function admit(ctx: Context, topic: string, minute: number, some: readonly Fresh[]): Promise<Counted> {
  try {
    return { admitted: some.slice(0, await takeRoom(ctx, topic, minute, some.length)), failed: [] };
  } catch (thrown) {
    const error = notFiledError(thrown);
    return { admitted: [], failed: some.map(({ at }) => ({ at, error })) };
  }
}

/** Counts jobs that are about to be filed. Answers how many of them the topic takes in this minute. */
async function takeRoom(ctx: Context, topic: string, minute: number, wanted: number): Promise<number> {
  const { maxFiledPerMinute: most = 0 } = policyOf(ctx, topic);
  const full = fullMinutes.get(ctx.pool) ?? new Map<string, number>();
  fullMinutes.set(ctx.pool, full);
  if (full.get(topic) === minute) return 0;
  const by = ctx.clock() + WRITER_DEADLINE;
  const { jobs = 0 } = await ctx.pool.count(filedKey(topic, minute), { jobs: wanted }, ttl(minute + DAY), by);
  if (jobs >= most) full.set(topic, minute);
  // rule: topic-takes-only-its-room
  return Math.min(Math.max(most - (jobs - wanted), 0), wanted);
}
