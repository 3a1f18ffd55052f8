import { noterOf, type Wish } from "./answers.ts";
import type { Bus } from "./bus.ts";
import type { Draws } from "./draws.ts";
import { crowdedTopic, toldTopic, topicsOf } from "./habits.ts";
import type { Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { LIMITED, RECEIVER, UNTRACKED, WEBHOOK_TOPICS } from "./topics.ts";
import type { Told } from "./witness.ts";
import { UNWANTED, type World } from "./world.ts";

/** How users reach the queue; over the bus in some histories. */
export type Callers = { api: Api; producers: Api; bus: Bus | undefined };

const SECOND = 1000;
const MINUTE = 60_000;
/** The usual ones more often. */
const CHOICE = [
  "orders",
  "orders",
  "orders",
  "work",
  "work",
  "precise",
  "logs",
  "events",
  "rush",
  "rush",
  "drip",
  "hooks",
  "hooks",
];
const CHANGES = ["cancel", "cancel", "cancel many", "move", "move", "edit", "replace", "redrive"];
const RIVALRY = ["redrive", "redrive", "replace", "replace", "cancel", "cancel many", "move", "edit"];
/** A redrive looks through each day of the dead jobs' retention, twice. */
const REDRIVE_STEPS = 12;
/** Jobs at once, of topics that have a limit. */
const BURST = 40;
/** Delays around all that decides a job's way, in seconds. */
const DELAYS = [0, 0, 1, 5, 20, 60, 170, 180, 195, 209, 211, 225, 240, 300, 420, 600, 899, 901, 1200];
const SOON = [0, 1, 5];
/** ms between what one user does and what he does next. */
const WAITS = [2 * SECOND, 4 * MINUTE, 10 * MINUTE];
const KEYS = ["a", "b"];
/** Seconds. */
export const BOUNDS = [5, 60, 300, 900];
const SPREADS = [1, 30];
/** What users of one history have in common: nothing, or that all of them want one key of one topic. */
const THEMES = ["mixed", "mixed", "mixed", "one key"] as const;
type Theme = (typeof THEMES)[number];

/** What users do in one history: file jobs, and change their mind. All of it by the seed. Answers whether all are through. */
export function users(
  world: World,
  callers: Callers,
  suppressed: ReadonlySet<string>,
  span: number,
): () => boolean {
  const { timeline } = world;
  const plan = world.draws("users");
  const count = plan.whole(3, 14);
  const theme = plan.pick(THEMES);
  const drawn = plan.pick(["orders", "orders", "work"]);
  const told = toldTopic(world.habit);
  const arena = told === undefined || UNTRACKED.has(told) ? drawn : told;
  let busy = 0;
  for (let n = 1; n <= count; n++) {
    const draws = world.draws(`user ${n}`);
    const time = timeline.now() + draws.next() * span * 0.7;
    const at = theme === "one key" ? rushAfter(time, draws) : time;
    if (suppressed.has(`user:${n}`)) continue;
    busy += 1;
    timeline.at(at, () => {
      void user(world, callers, n, draws, theme, arena, suppressed).then(() => {
        busy -= 1;
      });
    });
  }
  return () => busy === 0;
}

/** Rivals act in the same moments, a few round trips long, so that they meet. */
function rushAfter(time: number, draws: Draws): number {
  return Math.ceil(time / (2 * MINUTE)) * 2 * MINUTE + draws.whole(0, 60);
}

async function user(
  world: World,
  { api, producers, bus }: Callers,
  n: number,
  draws: Draws,
  theme: Theme,
  arena: string,
  suppressed: ReadonlySet<string>,
): Promise<void> {
  const { timeline, witness, stretch } = world;
  const rivals = theme === "one key";
  // What came later draws for itself, so that the rest stays as it was.
  const own = world.draws(`user ${n} too`);
  const usual = own.chance(0.6) ? toldTopic(world.habit) : undefined;
  const topic = rivals ? arena : (crowdedTopic(world.seed) ?? usual ?? draws.pick(CHOICE));
  const tracked = !UNTRACKED.has(topic);
  let edit = 0;
  let patches = 0;
  const bodyNow = () => ({ n, edit: edit++, ...(unwanted && { text: UNWANTED }) });
  const unwanted = draws.chance(0.06);
  const keyed = draws.chance(world.habit.kind === "events" ? 0.9 : 0.35);
  const key = tracked && (rivals || keyed) ? draws.pick(rivals ? ["a"] : KEYS) : undefined;
  const once = draws.chance(0.3) ? `token-${n}` : undefined;
  const direct = draws.chance(0.4) && once === undefined;
  const caller = direct ? producers : api;
  const time = () => {
    const delay = pickFrom(draws, rivals ? SOON : DELAYS, stretch.delays);
    // Now and then a time that is long past.
    return draws.chance(0.15)
      ? { dueAt: new Date(timeline.now() - 2 * delay * SECOND).toISOString() }
      : { delay };
  };
  const duplicate = draws.pick(["reject", "keep", "replace"]);
  const postpones = key !== undefined && own.chance(0.2);
  const onDuplicate = postpones ? "postpone" : duplicate;
  const job = {
    topic,
    body: bodyNow(),
    ...time(),
    ...(key !== undefined && { key, onDuplicate }),
    ...(postpones && { maxDelay: own.pick(BOUNDS) }),
    ...(own.chance(0.05) && { spread: own.pick(SPREADS) }),
    ...(draws.chance(0.1) && { expiresAfter: draws.whole(1, 600) }),
    ...(draws.chance(rivals ? 0.7 : 0.2) && { maxAttempts: draws.whole(1, 2) }),
    ...(WEBHOOK_TOPICS.includes(topic) && draws.chance(0.3) && { callbackUrl: `${RECEIVER}/${n}` }),
    ...(draws.chance(0.1) && { group: draws.pick(["g", "h"]) }),
  };

  // A deploy may have removed the topic just now, for a while.
  const usualSpread = topicsOf(world.habit)[topic]?.spread ?? 0;
  const spread = job.spread ?? usualSpread;

  const note = noterOf(world, topic);
  const noteKeep = (): void => {
    if (key !== undefined && onDuplicate === "keep") witness.tombstones.keeps(topic, key);
  };
  const file = async (): Promise<Told | undefined> => {
    const headers = once === undefined ? {} : { "idempotency-key": once };
    for (let i = 0; i < 4; i++) {
      const sentAt = timeline.now();
      noteKeep();
      const answer = await caller("POST", "/jobs", job, headers);
      const told = note(answer, job, sentAt, { changed: key === undefined, request: once, spread });
      if (told) return told;
      // Without a token a repeat would be another job.
      const repeatable = once !== undefined || (key !== undefined && onDuplicate !== "reject");
      if (!repeatable || (answer && answer.status < 500)) return undefined;
      await timeline.wait(draws.whole(1, 30) * SECOND);
    }
    return undefined;
  };
  const fileMany = async (): Promise<Told | undefined> => {
    const { key: _, onDuplicate: __, maxDelay: ___, ...plain } = job as typeof job & Keyed;
    const mates = Array.from({ length: draws.whole(1, LIMITED.has(topic) ? BURST : 5) }, (____, mate) => {
      return { ...plain, body: { n, edit: 0, mate } };
    });
    const jobs = [job, ...mates];
    const sentAt = timeline.now();
    noteKeep();
    const answer = await api("POST", "/jobs/batch", { jobs });
    if (answer?.status !== 200) return undefined;
    const results = answer.body.results as { status: number; job?: Told }[];
    for (const [i, { status, job: told }] of results.entries())
      if (told) note({ status, body: told }, jobs[i] ?? {}, sentAt, { changed: false, spread });
    return results[0]?.job;
  };

  const happens = async (name: string): Promise<void> => {
    if (key !== undefined && topic === world.habit.topic) await bus?.around(name, key);
  };
  await happens(`${n}`);
  const told =
    draws.chance(LIMITED.has(topic) ? 0.6 : 0.15) && once === undefined && !direct
      ? await fileMany()
      : await file();
  if (told && key !== undefined && topic === world.habit.topic)
    bus?.whileItRuns(`${n}`, key, Date.parse(told.dueAt));
  if (once !== undefined && draws.chance(0.5)) {
    await timeline.wait(draws.next() * pickFrom(draws, [5 * MINUTE], stretch.waits));
    await file();
  }
  for (let i = postpones ? own.whole(1, 3) : 0; i > 0; i--) {
    await timeline.wait(own.next() * own.pick([2 * SECOND, 2 * MINUTE]));
    await file();
  }
  if (!told) return;
  const changes = rivals || draws.chance(0.5) ? draws.whole(1, 4) : 0;
  for (let i = 0; i < changes; i++) {
    await timeline.wait(draws.next() * pickFrom(draws, WAITS, stretch.waits));
    if (rivals) await timeline.wait(rushAfter(timeline.now(), draws) - timeline.now());
    const what = draws.pick(rivals ? RIVALRY : CHANGES);
    const when = time();
    if (suppressed.has(`user:${n}:${i}`)) continue;
    if (what === "replace") await happens(`${n}:${i}`);
    await change(what, when);
  }
  // Long after its once item's first end, where histories are long.
  if (once !== undefined && own.chance(0.5)) {
    await timeline.wait(own.next() * pickFrom(own, [5 * MINUTE], stretch.waits));
    await file();
  }

  async function change(what: string, when: ReturnType<typeof time>): Promise<void> {
    const id = told?.id ?? "";
    const over = what.startsWith("cancel") ? witness.cancelAsked(id) : () => {};
    if (what === "cancel") {
      const answer = await caller("DELETE", `/jobs/${id}`);
      over();
      if (answer?.status === 200) witness.cancelled(answer.body as unknown as Told);
      // Who gets no answer may want something else by now, while the first request is still on its way.
      if (!answer && tracked && own.chance(0.7)) await patch(id, when);
    } else if (what === "cancel many") {
      const answer = await api("POST", "/jobs/cancel", { ids: [id] });
      over();
      const [result] = (answer?.body.results ?? []) as { status: number; job?: Told }[];
      if (result?.status === 200 && result.job) witness.cancelled(result.job);
    } else if (!tracked) return;
    else if (what === "move") await patch(id, when);
    else if (what === "edit") await patch(id, { body: bodyNow() });
    else if (what === "replace" && key !== undefined) {
      const wish = { body: bodyNow(), ...when };
      const sentAt = timeline.now();
      const answer = await api("PUT", `/topics/${topic}/jobs/${key}`, wish);
      note(answer, wish, sentAt, { changed: true, spread: usualSpread });
    } else if (what === "redrive") {
      world.requests += REDRIVE_STEPS;
      const which = draws.chance(0.5) ? { ids: [id] } : { max: 10 };
      await api("POST", `/topics/${topic}/redrive`, { ...which, delay: draws.pick([0, 60, 600]) });
    }
  }

  async function patch(id: string, wish: Wish): Promise<void> {
    const token = !direct && own.chance(0.4) ? `patch-${n}-${patches++}` : undefined;
    const headers = token === undefined ? {} : { "idempotency-key": token };
    if (token !== undefined && wish.body !== undefined) witness.gives(wish.body);
    const sentAt = timeline.now();
    const hasToken = token !== undefined;
    note(await caller("PATCH", `/jobs/${id}`, wish, headers), wish, sentAt, { changed: true, hasToken });
    if (token === undefined || own.chance(0.4)) return;
    // Somebody else changes the job before the call comes again.
    if (own.chance(0.5)) await patch(id, { body: bodyNow() });
    await timeline.wait(own.next() * pickFrom(own, WAITS, stretch.waits));
    note(await caller("PATCH", `/jobs/${id}`, wish, headers), wish, sentAt, { changed: false });
  }
}

type Keyed = { key?: string; onDuplicate?: string; maxDelay?: number };
