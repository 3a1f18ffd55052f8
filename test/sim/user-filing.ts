import { batchNoterOf } from "./answers.ts";
import type { Draws } from "./draws.ts";
import type { Answer } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { LIMITED } from "./topics.ts";
import type { User } from "./user.ts";
import type { Told } from "./witness/bench.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const TRIES = 4;
/** How soon after its first try a hasty caller repeats a call: ms. */
const MOST_HASTE = 100;
/** The most jobs that one user files at once in a topic with a limit. */
const BURST = 40;
/** When a caller repeats a batch of which its topic refused jobs: at once, or in the next minute. ms. */
const IMPATIENCE = [SECOND, MINUTE];
const WAITS = [2 * SECOND, 4 * MINUTE, 10 * MINUTE];

export async function fileFirst(user: User): Promise<Told | undefined> {
  const { draws, own, once, topic, habits } = user;
  const hasty = once !== undefined && own.chance(0.3) && hastily(user, own.next(), () => file(user));
  const isOfMany = draws.chance(LIMITED.has(topic) ? 0.6 : habits.many) && once === undefined;
  const told = isOfMany ? await fileMany(user) : await file(user);
  await hasty;
  return told;
}

function hastily<T>({ world }: User, soon: number, call: () => Promise<T>): Promise<T> {
  return world.timeline.wait(soon * MOST_HASTE).then(call);
}

function noteKeep({ world, topic, key, onDuplicate }: User): void {
  if (key !== undefined && onDuplicate === "keep") world.witness.tombstones.keeps(topic, key);
}

export async function file(user: User): Promise<Told | undefined> {
  const { world, caller, draws, job, key, onDuplicate, once, spread, note } = user;
  const { timeline, witness } = world;
  const headers = once === undefined ? {} : { "idempotency-key": once };
  if (once !== undefined) witness.repeats.asked([job.body]);
  for (let i = 0; i < TRIES; i++) {
    const sentAt = timeline.now();
    noteKeep(user);
    const answer = await caller("POST", "/jobs", job, headers);
    const told = note(answer, job, sentAt, { changed: key === undefined, request: once, spread });
    if (told) return told;
    if (await waitForRoom(user, answer)) continue;
    // Without a token or a key, a repeated call would file another job.
    const repeatable = once !== undefined || (key !== undefined && onDuplicate !== "reject");
    if (!repeatable || (answer && answer.status < 500)) return undefined;
    await timeline.wait(draws.whole(1, 30) * SECOND);
  }
  return undefined;
}

/** Waits until the next minute, in which the topic takes jobs again. `false`: the call was not refused for want of room. */
async function waitForRoom({ world }: User, answer: Answer | undefined): Promise<boolean> {
  if (answer?.status !== 429) return false;
  await world.timeline.wait(Number(answer.body.retryAfter) * SECOND);
  return true;
}

/** Files several jobs with one call. Some callers repeat the call before they get the first answer, others much later. */
async function fileMany(user: User): Promise<Told | undefined> {
  const { n, remembersCalls, world } = user;
  const jobs = batchOf(user);
  const calling = world.draws(`user ${n} batch`);
  const token = remembersCalls && calling.chance(0.7) ? `batch-${n}` : undefined;
  const call = () => fileBatch(user, { jobs, token, calling });
  if (token === undefined) return call();
  world.witness.repeats.asked(jobs.map(({ body }) => body));
  const isHasty = calling.chance(0.4);
  const hasty = isHasty && hastily(user, calling.next(), call);
  const told = await call();
  await hasty;
  if (isHasty || calling.chance(0.3)) return told;
  await world.timeline.wait(calling.next() * pickFrom(calling, WAITS, world.stretch.waits));
  return (await call()) ?? told;
}

type Keyed = { key?: string; onDuplicate?: string; maxDelay?: number };

function batchOf({ draws, n, topic, job }: User) {
  const { key: _, onDuplicate: __, maxDelay: ___, ...plain } = job as typeof job & Keyed;
  const mates = Array.from({ length: draws.whole(1, LIMITED.has(topic) ? BURST : 5) }, (____, mate) => {
    return { ...plain, body: { n, edit: 0, mate } };
  });
  // The user may call for the first job alone later, without the token of this call.
  return [{ ...job, body: { ...job.body, mate: "first" } }, ...mates];
}

async function fileBatch(
  user: User,
  { jobs, token, calling }: { jobs: ReturnType<typeof batchOf>; token: string | undefined; calling: Draws },
): Promise<Told | undefined> {
  const { caller, note, spread } = user;
  const { timeline } = user.world;
  const noteBatch = batchNoterOf(note, jobs, spread);
  for (let i = 0; i < TRIES; i++) {
    const sentAt = timeline.now();
    noteKeep(user);
    const headers = token === undefined ? {} : { "idempotency-key": token };
    const results = noteBatch(await caller("POST", "/jobs/batch", { jobs }, headers), token, sentAt);
    const isFull = results?.some(({ status }) => status === 429);
    const isDecided = !isFull && results?.every(({ status }) => status < 500);
    if (token === undefined || isDecided) return results?.[0]?.job;
    await timeline.wait(isFull ? calling.pick(IMPATIENCE) : calling.whole(1, 30) * SECOND);
  }
  return undefined;
}
