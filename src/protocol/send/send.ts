import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Home, isNear, startsAt } from "../../core/home.ts";
import { delaySecondsOf, type Pack, packsOf } from "../../core/packs.ts";
import { inParallel } from "../../general/batches.ts";
import type { TopicPolicy } from "../../settings/policy.ts";
import { isPlain, topicNow, topicsNow } from "../gate/known-pauses.ts";
import { parkForLimit, removeNotes } from "../gate/park.ts";
import { type KnownJobs, readTooLongAgo, startGate } from "../gate/start-gate.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline, Outgoing, Sent } from "../ports.ts";
import { fileLooks } from "../store/looks.ts";

/** `held`: a pause, a limit or a window holds the job. This is stored, and the sender has done all. */
export type HandedOver = Sent | { outcome: "held" };

/** The keys are the jobs' ids. */
type Outcomes = ReadonlyMap<string, HandedOver>;

/** Sends the jobs that nothing holds. Answers the outcomes by id. @throws if the pauses of all these topics cannot be read */
export async function send(
  ctx: Context,
  homes: readonly Home[],
  known?: KnownJobs,
): Promise<Map<string, HandedOver>> {
  const byTopic = Map.groupBy(uniqueJobs(homes), (home) => home.topic);
  const readBy = ctx.clock() + WRITER_DEADLINE;
  const { unknown } = await topicsNow(ctx, [...byTopic.keys()]);
  if (byTopic.size > 0 && unknown.size === byTopic.size) throw [...unknown.values()][0];
  const tooLate = ctx.clock() < readBy ? undefined : new Error(readTooLongAgo(readBy));
  const outcomes = new Map<string, HandedOver>();
  // In parallel, so that a topic whose items are throttled delays only its own jobs.
  await inParallel([...byTopic], 8, async ([topic, jobs]) => {
    const error = unknown.get(topic) ?? tooLate;
    const sent =
      error === undefined ? sendOfTopic(ctx, topic, jobs, known) : failAll(ctx, topic, jobs, error);
    for (const [id, outcome] of await sent) outcomes.set(id, outcome);
  });
  return outcomes;
}

/** A page may have a job's home and also looks at the job. */
export function uniqueJobs(homes: readonly Home[]): Home[] {
  return [...new Map(homes.map((home) => [home.id, home])).values()];
}

/** Nothing holds the jobs of a plain topic, except those that may wait for a release (`spare`). */
async function sendOfTopic(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known: KnownJobs | undefined,
): Promise<Outcomes> {
  const by = ctx.clock() + WRITER_DEADLINE;
  try {
    // Asked again, because other topics may have taken minutes.
    const isHeldByNothing = isPlain(await topicNow(ctx, topic)) && !jobs.some(({ spare }) => spare);
    return await (isHeldByNothing ? sendNow(ctx, jobs, by) : sendThroughGate(ctx, topic, jobs, known, by));
  } catch (error) {
    return failAll(ctx, topic, jobs, error);
  }
}

/** Sends the jobs that may start, and parks others for the limit. */
async function sendThroughGate(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  known: KnownJobs | undefined,
  by: Deadline,
): Promise<Outcomes> {
  const { ready, later, failed, needless } = await startGate(ctx, topic, jobs, known);
  // The others are parked, or wait for a later start.
  const held = jobs.map(({ id }): [string, HandedOver] => [id, { outcome: "held" }]);
  const unstarted = failEach(ctx, topic, failed);
  const sent = await sendNow(ctx, ready, by);
  const unparked = await parkLater(ctx, topic, later, by);
  // The notes go last: sweeps leave a job with a note to a release.
  const gone = [...needless].flatMap(([id, note]) => (sent.get(id)?.outcome === "sent" ? note : []));
  await removeNotes(ctx, topic, gone);
  return new Map([...held, ...unstarted, ...sent, ...unparked]);
}

/** Parks jobs after the others are sent: a throttled partition of notes takes long, and their starts would pass. Answers the failures. */
async function parkLater(
  ctx: Context,
  topic: string,
  later: readonly Home[],
  by: Deadline,
): Promise<Outcomes> {
  try {
    // rule: job-without-a-start-is-parked
    await parkForLimit(ctx, topic, later, by);
    return new Map();
  } catch (error) {
    return failAll(ctx, topic, later, error);
  }
}

function failAll(ctx: Context, topic: string, jobs: readonly Home[], error: unknown): Outcomes {
  return failEach(ctx, topic, new Map(jobs.map(({ id }) => [id, error])));
}

function failEach(ctx: Context, topic: string, failed: ReadonlyMap<string, unknown>): Outcomes {
  const failures = [...failed].map(([id, error]) => ({ id, reason: messageOf(error) }));
  reportFailures(
    ctx,
    topic,
    failures.map(({ reason }) => reason),
  );
  return new Map(failures.map(({ id, reason }) => [id, { outcome: "failing", reason }]));
}

/** Does not ask what holds the jobs. From `by` on nothing is sent: a process can stand still for an hour after it has read them. */
export async function sendNow(
  ctx: Context,
  homes: readonly Home[],
  by: Deadline = Number.POSITIVE_INFINITY,
): Promise<Map<string, Sent>> {
  if (ctx.clock() >= by) {
    const reason = readTooLongAgo(by);
    return new Map(homes.map(({ id }) => [id, { outcome: "failing", reason }]));
  }
  const topics = Map.groupBy(homes, (home) => home.topic);
  const outcomes = await Promise.all([...topics].map(([topic, jobs]) => sendTopic(ctx, topic, jobs)));
  return new Map(outcomes.flat());
}

/** The sender of such a job has nothing more to do for it. */
export function isHandedOver(outcome: HandedOver | undefined): boolean {
  return outcome?.outcome === "sent" || outcome?.outcome === "held";
}

async function sendTopic(ctx: Context, topic: string, homes: readonly Home[]): Promise<[string, Sent][]> {
  const now = ctx.clock();
  const policy = policyOf(ctx, topic);
  const packsBy = (policy: TopicPolicy, some: readonly Home[]): Pack[] =>
    packsOf(topic, policy, some, now, ctx.sizes.packBytes);
  const packed = await sendPacks(ctx, topic, policy, packsBy(policy, homes));
  // rule: refused-pack-sent-one-by-one
  // SQS may refuse a message because of the text of one of its jobs.
  const refused = packed.filter(({ pack, sent }) => sent.outcome === "refused" && pack.homes.length > 1);
  const mates = refused.flatMap(({ pack }) => pack.homes);
  const alone = await sendPacks(ctx, topic, policy, packsBy({ ...policy, pack: 1 }, mates));
  const packs = [...packed.filter((one) => !refused.includes(one)), ...alone];
  const outcomes = packs.flatMap(({ pack, sent }) => pack.homes.map(({ id }): [string, Sent] => [id, sent]));
  const reasons = outcomes.flatMap(([, sent]) => (sent.outcome === "sent" ? [] : sent.reason));
  const jobs = outcomes.length - reasons.length;
  const messages = packs.filter(({ sent }) => sent.outcome === "sent").length;
  if (jobs > 0) ctx.report({ type: "handed-over", topic, jobs, messages });
  reportFailures(ctx, topic, reasons);
  return outcomes;
}

/** One report for each reason. `reasons`: one for each job. */
export function reportFailures(ctx: Context, topic: string, reasons: readonly string[]): void {
  for (const [reason, { length: jobs }] of Map.groupBy(reasons, (reason) => reason))
    ctx.report({ type: "hand-over-failed", topic, jobs, reason });
}

async function sendPacks(
  ctx: Context,
  topic: string,
  policy: TopicPolicy,
  packs: readonly Pack[],
): Promise<{ pack: Pack; sent: Sent }[]> {
  const now = ctx.clock();
  const messages = packs.map(
    ({ body, start, group }): Outgoing => ({
      body,
      delaySeconds: delaySecondsOf(start, now, policy.precision),
      ...(group === undefined ? {} : { group }),
    }),
  );
  // rule: each-message-sent-once
  const sent = await ctx.queues.send({ topic }, messages);
  return packs.map((pack, i) => {
    return { pack, sent: sent[i] ?? { outcome: "failing", reason: "no answer for this message" } };
  });
}

/** Sends the jobs that the sweep may have passed already. Each writer calls this last: the clock must be read after the writes. */
export async function sendIfNear(ctx: Context, homes: readonly Home[]): Promise<void> {
  const near = homes.filter((home) => isNear(startsAt(home), ctx.clock()));
  if (near.length === 0) return;
  await fileLooksAtUnsent(ctx, near, await send(ctx, near));
}

/** One of the next sweeps sends the jobs that were not handed over. */
export async function fileLooksAtUnsent(
  ctx: Context,
  homes: readonly Home[],
  outcomes: ReadonlyMap<string, HandedOver>,
): Promise<void> {
  const unsent = homes.filter((home) => !isHandedOver(outcomes.get(home.id)));
  const now = ctx.clock();
  const looks = unsent.map(({ id }) => ({ id, time: now + RETRY_LOOK_AFTER }));
  await fileLooks(ctx, looks, now + WRITER_DEADLINE);
}
