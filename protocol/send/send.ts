import { RETRY_LOOK_AFTER, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { isNear, startsAt } from "../../core/home.ts";
import type { Home } from "../../core/items.ts";
import { delaySecondsOf, type Pack, packsOf } from "../../core/packs.ts";
import type { TopicPolicy } from "../../core/policy.ts";
import { inParallel } from "../../general/batches.ts";
import { isPlain, topicNow, topicsNow } from "../gate/known-pauses.ts";
import { parkForLimit, removeNotes } from "../gate/park.ts";
import { type KnownJobs, readTooLongAgo, startGate } from "../gate/start-gate.ts";
import { policyOf } from "../policy.ts";
import type { Context, Deadline, Outgoing, Sent } from "../ports.ts";
import { fileLooks } from "../store/looks.ts";

/** What became of a job that was to be sent. `held`: a pause, a limit or a window holds it. This is stored, and the sender has done all. */
export type HandedOver = Sent | { outcome: "held" };

/** What became of jobs, by their ids. */
type Outcomes = ReadonlyMap<string, HandedOver>;

/**
 * Sends the current revision of each of these jobs, unless a pause, a limit or a window holds it. Answers the outcomes by the jobs' ids.
 * @param looks what a sweep, an audit or a consumer knows of jobs of limited topics
 * @throws the error of reading a pause, if the pauses of all these topics cannot be read
 */
export async function send(
  ctx: Context,
  homes: readonly Home[],
  looks?: KnownJobs,
): Promise<Map<string, HandedOver>> {
  const byTopic = Map.groupBy(uniqueJobs(homes), (home) => home.topic);
  const readBy = ctx.clock() + WRITER_DEADLINE;
  const { unknown } = await topicsNow(ctx, [...byTopic.keys()]);
  if (byTopic.size > 0 && unknown.size === byTopic.size) throw [...unknown.values()][0];
  const tooLate = ctx.clock() < readBy ? undefined : new Error(readTooLongAgo(readBy));
  const outcomes = new Map<string, HandedOver>();
  // Topics are worked on in parallel. So if DynamoDB throttles one topic's items, the jobs of the other topics do not wait.
  await inParallel([...byTopic], 8, async ([topic, jobs]) => {
    const error = unknown.get(topic) ?? tooLate;
    const sent =
      error === undefined ? sendOfTopic(ctx, topic, jobs, looks) : failAll(ctx, topic, jobs, error);
    for (const [id, outcome] of await sent) outcomes.set(id, outcome);
  });
  return outcomes;
}

/** The homes without repetitions. A page may have a job's home and also looks at the job. */
export function uniqueJobs(homes: readonly Home[]): Home[] {
  return [...new Map(homes.map((home) => [home.id, home])).values()];
}

/** Sends jobs of one topic. Nothing holds the jobs of a plain topic, except those that may wait for a release (`spare`). */
async function sendOfTopic(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  looks: KnownJobs | undefined,
): Promise<Outcomes> {
  const by = ctx.clock() + WRITER_DEADLINE;
  try {
    // Asked again, because other topics may have taken minutes. Usually the answer is known.
    const isHeldByNothing = isPlain(await topicNow(ctx, topic)) && !jobs.some(({ spare }) => spare);
    return await (isHeldByNothing ? sendNow(ctx, jobs, by) : sendThroughGate(ctx, topic, jobs, looks, by));
  } catch (error) {
    return failAll(ctx, topic, jobs, error);
  }
}

/** Asks the gate which of these jobs may start, sends those, and parks others for the limit. Answers the outcomes of all. */
async function sendThroughGate(
  ctx: Context,
  topic: string,
  jobs: readonly Home[],
  looks: KnownJobs | undefined,
  by: Deadline,
): Promise<Outcomes> {
  const { ready, later, failed, spare } = await startGate(ctx, topic, jobs, looks);
  // A job that gets no other outcome is parked, or waits for a later start.
  const held = jobs.map(({ id }): [string, HandedOver] => [id, { outcome: "held" }]);
  const unstarted = failEach(ctx, topic, failed);
  const sent = await sendNow(ctx, ready, by);
  const unparked = await parkLater(ctx, topic, later, by);
  // `spare`: notes of jobs that no pause holds any more (not `Home.spare`). Each note is removed only when its job is sent. Until then
  // sweeps leave the job to a release, which finds the job by the note.
  const gone = [...spare].flatMap(([id, note]) => (sent.get(id)?.outcome === "sent" ? note : []));
  await removeNotes(ctx, topic, gone);
  return new Map([...held, ...unstarted, ...sent, ...unparked]);
}

/**
 * Parks jobs that get no start of their topic's limit now. This is done after the others are sent: writing to a throttled partition of notes
 * takes long, and the others' starts would pass. Answers the outcomes of those that could not be parked.
 */
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

/** Reports why jobs were not handed over, and answers their outcomes. `failed`: the errors by the jobs' ids. */
function failEach(ctx: Context, topic: string, failed: ReadonlyMap<string, unknown>): Outcomes {
  const failures = [...failed].map(([id, error]) => ({ id, reason: messageOf(error) }));
  reportFailures(
    ctx,
    topic,
    failures.map(({ reason }) => reason),
  );
  return new Map(failures.map(({ id, reason }) => [id, { outcome: "failing", reason }]));
}

/**
 * Packs these jobs into messages and sends them, without asking for pauses, limits and windows.
 * @param by from then on these were read too long ago, and nothing is sent: a process can stand still for an hour and then go on
 */
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

/** Whether the sender of a job with this outcome has nothing more to do for the job. */
export function isHandedOver(outcome: HandedOver | undefined): boolean {
  return outcome?.outcome === "sent" || outcome?.outcome === "held";
}

/** Sends the jobs of one topic. Answers what became of each, with the job's id. */
async function sendTopic(ctx: Context, topic: string, homes: readonly Home[]): Promise<[string, Sent][]> {
  const now = ctx.clock();
  const policy = policyOf(ctx, topic);
  const packsBy = (policy: TopicPolicy, some: readonly Home[]): Pack[] =>
    packsOf(topic, policy, some, now, ctx.sizes.packBytes);
  const packed = await sendPacks(ctx, topic, policy, packsBy(policy, homes));
  // rule: refused-pack-sent-one-by-one
  // SQS may refuse a message because of the text of one of its jobs. So each job of that message is sent alone.
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

/** Reports failed hand-overs, in one report for each reason. `reasons`: one for each job. */
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

/**
 * Sends those of these jobs that the sweep may have passed already. Every process that files or moves a job calls this last, because the
 * clock must be read after the writes. Files a look at each job whose message SQS rejects.
 */
export async function sendIfNear(ctx: Context, homes: readonly Home[]): Promise<void> {
  const near = homes.filter((home) => isNear(startsAt(home), ctx.clock()));
  if (near.length === 0) return;
  await fileLooksAtUnsent(ctx, near, await send(ctx, near));
}

/** Files a look at each of these jobs that was not handed over, so that one of the next sweeps sends the job. */
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
