import { LEAST_RETENTION } from "../../src/core/constants.ts";
import { batchNoterOf, noterOf } from "./answers.ts";
import { deal } from "./clerks.ts";
import type { Draws } from "./draws.ts";
import { topicsOf } from "./habits.ts";
import { REDRIVE_STEPS } from "./menders.ts";
import type { Api } from "./platform.ts";
import { LIMITED, TOPICS, UNTRACKED, UNWANTED } from "./topics.ts";
import type { Told } from "./witness/bench.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const TRACKED = Object.keys(TOPICS).filter((topic) => !UNTRACKED.has(topic));
/** Topics without a limit, whose jobs run soon. */
const PROMPT = TRACKED.filter((topic) => !LIMITED.has(topic));
/** Seconds: the next sweep sends the job. */
const SWEPT = 215;
const DEAD_AFTER = 10 * SECOND;
const ROUNDS = 4;
const BEFORE = 30 * SECOND;
/** Seconds: each job lies in a bucket of its own. */
const APART = 70;

type Sufferer = { world: World; api: Api; draws: Draws; topic: string; note: ReturnType<typeof noterOf> };
type Wanted = { topic: string; delay: number; body: object };

export function sufferers(world: World, api: Api): void {
  const { timeline, plan } = world;
  const spell = plan.spells.find(({ kind }) => kind === "requests-fail");
  const draws = world.draws("sufferers");
  // In histories of weeks the policy spreads the faults over days.
  if (!spell || world.stretch.isOfWeeks || world.isLeftOut("sufferer:1")) return;
  const topic = draws.pick(PROMPT);
  const sufferer = { world, api, draws, topic, note: noterOf(world, topic) };
  const act = ACTS[spell.requests.name];
  if (act) world.join(Math.max(timeline.now(), spell.from - BEFORE), () => act(sufferer));
}

const ACTS: Record<string, (sufferer: Sufferer) => Promise<void>> = {
  // A sweep finds jobs of several topics at once.
  "pauses are not read": (one) =>
    rounds(one, MINUTE, () =>
      file(
        one,
        TRACKED.map((topic) => ({ topic, delay: SWEPT, body: { suffered: topic } })),
      ),
    ),
  // Moves jobs of several buckets to one time.
  "homes are not read": (one) =>
    rounds(one, MINUTE, async () => {
      const told = await file(one, spaced(one, 5 * 60));
      const dueAt = new Date(one.world.timeline.now() + SWEPT * SECOND).toISOString();
      await Promise.all(told.map(({ id }) => patch(one, id, dueAt)));
    }),
  // Files so many jobs of one minute that they take several pages.
  "later pages are not read": (one) => rounds(one, 2 * MINUTE, () => file(one, several(20, one.topic, 300))),
  "later receives fail": (one) => rounds(one, MINUTE, () => file(one, several(10, "work", 2))),
  "buckets are not written": sufferUnwritten,
  "keys are not written": (one) => rounds(one, MINUTE, () => put(one, { body: { suffered: 1 }, delay: 0 })),
  "dead entries are not written": (one) => rounds(one, 0, () => sufferUnlisted(one)),
  "letters are not sent": (one) => rounds(one, MINUTE, () => sufferUnsent(one)),
};

async function sufferUnwritten(one: Sufferer): Promise<void> {
  const { world, api, draws, topic } = one;
  await file(one, spaced(one, 10 * 60));
  const far = await put(one, { body: { suffered: 1 }, delay: 10 * 60 });
  await world.timeline.wait(BEFORE);
  await Promise.all([deal(world, api, draws, topic), far && cancel(one, far.id), insist(one)]);
}

/** A job dies in its handler, and is redriven. Another dies because SQS refuses its text. */
async function sufferUnlisted(one: Sufferer): Promise<void> {
  const { world, api, draws, topic } = one;
  const told = await die(one);
  await world.timeline.wait(draws.next() * MINUTE);
  world.counts.requests += REDRIVE_STEPS;
  if (told) await api("POST", `/topics/${topic}/redrive`, { ids: [told.id], delay: 60 });
  await file(one, [{ topic, delay: SWEPT, body: { suffered: 1, text: UNWANTED } }]);
  await world.timeline.wait(MINUTE);
}

/** A job dies, its key gets another job, and somebody uses SQS's own redrive. */
async function sufferUnsent(one: Sufferer): Promise<void> {
  await die(one);
  await put(one, { body: { suffered: 2 }, delay: SWEPT });
  for (let i = 0; i < 4; i++) {
    one.world.sqs.redrive(one.topic);
    await one.world.timeline.wait(20 * SECOND);
  }
}

// Not from `world.policy`, because a deployment may have removed the topic for a while.
function spreadOf({ world }: Sufferer, topic: string): number {
  return topicsOf(world.habit)[topic]?.spread ?? 0;
}

async function file(one: Sufferer, jobs: readonly Wanted[], token?: string): Promise<Told[]> {
  const sentAt = one.world.timeline.now();
  const spread = Math.max(...jobs.map((job) => spreadOf(one, job.topic)));
  const answer = await one.api("POST", "/jobs/batch", { jobs }, token ? { "idempotency-key": token } : {});
  const results = batchNoterOf(one.note, jobs, spread)(answer, token, sentAt);
  return results?.flatMap(({ job }) => job ?? []) ?? [];
}

async function put(one: Sufferer, wish: { body: object; delay: number }): Promise<Told | undefined> {
  const sentAt = one.world.timeline.now();
  const answer = await one.api("PUT", `/topics/${one.topic}/jobs/suffered`, wish);
  return one.note(answer, wish, sentAt, { changed: true, spread: spreadOf(one, one.topic) });
}

async function patch({ world, api, note }: Sufferer, id: string, dueAt: string): Promise<void> {
  const sentAt = world.timeline.now();
  note(await api("PATCH", `/jobs/${id}`, { dueAt }), { dueAt }, sentAt, { changed: true });
}

async function die(one: Sufferer): Promise<Told | undefined> {
  const told = await put(one, { body: { suffered: 1 }, delay: 2 });
  if (told) one.world.doomed.add(told.id);
  await one.world.timeline.wait(DEAD_AFTER);
  return told;
}

async function cancel({ world: { witness }, api }: Sufferer, id: string): Promise<void> {
  const over = witness.cancelAsked(id);
  const answer = await api("DELETE", `/jobs/${id}`);
  over();
  if (answer?.status === 200) witness.cancelled(answer.body as unknown as Told);
}

async function insist(one: Sufferer): Promise<void> {
  const { world, topic } = one;
  // TTL may delete the homes before the calls end.
  if (world.policy.retention * SECOND < LEAST_RETENTION) return;
  const jobs = Array.from({ length: 3 }, (_, n) => ({ topic, delay: 0, body: { insisted: n } }));
  world.witness.repeats.asked(jobs.map(({ body }) => body));
  await rounds(one, 10 * SECOND, () => file(one, jobs, "sufferer"));
}

function several(count: number, topic: string, delay: number): Wanted[] {
  return Array.from({ length: count }, (_, n) => ({ topic, delay, body: { suffered: n } }));
}

function spaced({ topic }: Sufferer, from: number): Wanted[] {
  return Array.from({ length: 5 }, (_, n) => ({ topic, delay: from + n * APART, body: { suffered: n } }));
}

async function rounds(
  { world, draws }: Sufferer,
  pause: number,
  play: () => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < ROUNDS; i++) {
    await play();
    await world.timeline.wait(draws.next() * pause);
  }
}
