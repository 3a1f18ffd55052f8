import { LEAST_RETENTION } from "../../core/constants.ts";
import { batchNoterOf, mustRefuse, noterOf, type Wish } from "./answers.ts";
import type { Bus } from "./bus.ts";
import { type Draws, mixOf, shareOf } from "./draws.ts";
import { crowdedTopic, toldTopic, topicsOf } from "./habits.ts";
import { menders, REDRIVE_STEPS } from "./menders.ts";
import type { Answer, Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { LIMITED, RECEIVER, UNTRACKED, WEBHOOK_TOPICS } from "./topics.ts";
import type { Told } from "./witness/bench.ts";
import { UNWANTED, type World } from "./world.ts";

export type Callers = { api: Api; producers: Api; bus: Bus | undefined };

const SECOND = 1000;
const MINUTE = 60_000;
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
const CHANGES = ["cancel", "cancel many", "move", "edit", "replace", "redrive"];
/** How soon after its first try a hasty caller repeats a call: ms. */
const MOST_HASTE = 100;
/** The most jobs that one user files at once in a topic with a limit. */
const BURST = 40;
/** Delays just below and above each bound that decides how a job is sent, in seconds. */
const DELAYS = [0, 0, 1, 5, 20, 60, 170, 180, 195, 209, 211, 225, 240, 300, 420, 600, 899, 901, 1200];
const SOON = [0, 1, 5];
const WAITS = [2 * SECOND, 4 * MINUTE, 10 * MINUTE];
const KEYS = ["a", "b"];
const RIVALS_KEY = "a";
/** Seconds. */
export const BOUNDS = [5, 60, 300, 900];
const SPREADS = [1, 30];
/** Users of a history do different things, or all of them compete for one key of one topic. */
const THEMES = ["mixed", "mixed", "mixed", "one key"] as const;
type Theme = (typeof THEMES)[number];
/** What the users of one history do, and how often. The probabilities are of calls that have a key and so on. */
type Habits = {
  readonly theme: Theme;
  readonly arena: string;
  readonly change: (draws: Draws) => string;
  readonly keyed: number;
  readonly once: number;
  readonly direct: number;
  readonly many: number;
};

/** Users file jobs, and then cancel or change some of them. */
export function users(world: World, callers: Callers): void {
  const { timeline, stretch } = world;
  const plan = world.draws("users");
  const count = plan.whole(3, 14);
  const theme = plan.pick(THEMES);
  const drawn = plan.pick(["orders", "orders", "work"]);
  const told = toldTopic(world.habit);
  const arena = told === undefined || UNTRACKED.has(told) ? drawn : told;
  const mix = world.draws("mix");
  const habits: Habits = {
    theme,
    arena,
    change: mixOf(mix, CHANGES),
    keyed: world.habit.kind === "events" ? 0.9 : shareOf(mix, 0.9),
    once: shareOf(mix, 0.8),
    direct: shareOf(mix, 1),
    many: shareOf(mix, 0.5),
  };
  for (let n = 1; n <= count; n++) {
    const draws = world.draws(`user ${n}`);
    const time = timeline.now() + draws.next() * stretch.span * 0.7;
    const at = theme === "one key" ? rushAfter(time, draws) : time;
    if (!world.isLeftOut(`user:${n}`)) world.join(at, () => user(world, callers, n, draws, habits));
  }
  if (theme === "one key" && !world.isLeftOut("mender:1")) menders(world, callers.api, arena, RIVALS_KEY);
}

/** The users that compete for one key act at almost the same time, a few round trips apart, so that their calls overlap. */
function rushAfter(time: number, draws: Draws): number {
  return Math.ceil(time / (2 * MINUTE)) * 2 * MINUTE + draws.whole(0, 60);
}

async function user(
  world: World,
  { api, producers, bus }: Callers,
  n: number,
  draws: Draws,
  habits: Habits,
): Promise<void> {
  const { timeline, witness, stretch } = world;
  const rivals = habits.theme === "one key";
  // Behaviour that was added later has draws of its own, so that the other draws of a seed stay as they were.
  const own = world.draws(`user ${n} too`);
  const usual = own.chance(0.6) ? toldTopic(world.habit) : undefined;
  const topic = rivals ? habits.arena : (crowdedTopic(world.seed) ?? usual ?? draws.pick(CHOICE));
  const tracked = !UNTRACKED.has(topic);
  let edit = 0;
  let patches = 0;
  const bodyNow = () => ({ n, edit: edit++, ...(unwanted && { text: UNWANTED }) });
  const unwanted = draws.chance(0.06);
  const keyed = draws.chance(habits.keyed);
  const key = tracked && (rivals || keyed) ? draws.pick(rivals ? [RIVALS_KEY] : KEYS) : undefined;
  // With a retention of minutes, which no deployment can have, TTL may delete a home whose `Idempotency-Key` must still answer.
  const remembersCalls = world.policy.retention * SECOND >= LEAST_RETENTION;
  const asksOnce = draws.chance(habits.once) && remembersCalls;
  const once = asksOnce ? `token-${n}` : undefined;
  const direct = draws.chance(habits.direct);
  const caller = direct ? producers : api;
  const time = () => {
    const delay = pickFrom(draws, rivals ? SOON : DELAYS, stretch.delays);
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
    ...(draws.chance(0.1) && tracked && { expiresAfter: draws.whole(1, 600) }),
    ...(draws.chance(rivals ? 0.7 : 0.2) && { maxAttempts: draws.whole(1, 2) }),
    ...(WEBHOOK_TOPICS.includes(topic) && draws.chance(0.3) && { callbackUrl: `${RECEIVER}/${n}` }),
    ...(draws.chance(0.1) && { group: draws.pick(["g", "h"]) }),
  };

  // Not from `world.policy`, because a deployment may have removed the topic for a while.
  const usualSpread = topicsOf(world.habit)[topic]?.spread ?? 0;
  const spread = job.spread ?? usualSpread;

  const note = noterOf(world, topic);
  const noteKeep = (): void => {
    if (key !== undefined && onDuplicate === "keep") witness.tombstones.keeps(topic, key);
  };
  const file = async (): Promise<Told | undefined> => {
    const headers = once === undefined ? {} : { "idempotency-key": once };
    if (once !== undefined) witness.repeats.asked([job.body]);
    for (let i = 0; i < 4; i++) {
      const sentAt = timeline.now();
      noteKeep();
      const answer = await caller("POST", "/jobs", job, headers);
      const told = note(answer, job, sentAt, { changed: key === undefined, request: once, spread });
      if (told) return told;
      // Without a token or a key, a repeated call would file another job.
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
    // The user may call for the first job alone later, without the token of this call.
    const jobs = [{ ...job, body: { ...job.body, mate: "first" } }, ...mates];
    const noteBatch = batchNoterOf(note, jobs, spread);
    const calling = world.draws(`user ${n} batch`);
    const token = remembersCalls && calling.chance(0.7) ? `batch-${n}` : undefined;
    const call = async (): Promise<Told | undefined> => {
      for (let i = 0; i < 4; i++) {
        const sentAt = timeline.now();
        noteKeep();
        const headers = token === undefined ? {} : { "idempotency-key": token };
        const results = noteBatch(await caller("POST", "/jobs/batch", { jobs }, headers), token, sentAt);
        const isDecided = results?.every(({ status }) => status < 500);
        if (token === undefined || isDecided) return results?.[0]?.job;
        await timeline.wait(calling.whole(1, 30) * SECOND);
      }
      return undefined;
    };
    if (token === undefined) return call();
    witness.repeats.asked(jobs.map(({ body }) => body));
    // Some callers repeat the call before they get the first answer, others much later.
    const isHasty = calling.chance(0.4);
    const hasty = isHasty && timeline.wait(calling.next() * MOST_HASTE).then(call);
    const told = await call();
    await hasty;
    if (isHasty || calling.chance(0.3)) return told;
    await timeline.wait(calling.next() * pickFrom(calling, WAITS, stretch.waits));
    return (await call()) ?? told;
  };

  const happens = async (name: string): Promise<void> => {
    if (key !== undefined && topic === world.habit.topic) await bus?.around(name, key);
  };
  await happens(`${n}`);
  // Some callers do not wait for the first answer before they repeat the call.
  const isHasty = once !== undefined && own.chance(0.3);
  const hasty = isHasty && timeline.wait(own.next() * MOST_HASTE).then(file);
  const told =
    draws.chance(LIMITED.has(topic) ? 0.6 : habits.many) && once === undefined
      ? await fileMany()
      : await file();
  await hasty;
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
    const what = habits.change(draws);
    const when = time();
    if (world.isLeftOut(`user:${n}:${i}`)) continue;
    if (what === "replace") await happens(`${n}:${i}`);
    await change(what, when);
  }
  // In long histories this repeat comes after the first `expiresAt` of the once item.
  if (once !== undefined && own.chance(0.5)) {
    await timeline.wait(own.next() * pickFrom(own, [5 * MINUTE], stretch.waits));
    await file();
  }

  async function change(what: string, when: ReturnType<typeof time>): Promise<void> {
    const id = told?.id ?? "";
    if (!tracked) return mustRefuse(world, what, await forbidden(what, id, when));
    const over = what.startsWith("cancel") ? witness.cancelAsked(id) : () => {};
    if (what === "cancel") {
      const answer = await caller("DELETE", `/jobs/${id}`);
      over();
      if (answer?.status === 200) witness.cancelled(answer.body as unknown as Told);
      // Without an answer the user may ask for something else while the first request is still on its way.
      if (!answer && own.chance(0.7)) await patch(id, when);
    } else if (what === "cancel many") {
      const answer = await api("POST", "/jobs/cancel", { ids: [id] });
      over();
      const [result] = (answer?.body.results ?? []) as { status: number; job?: Told }[];
      if (result?.status === 200 && result.job) witness.cancelled(result.job);
    } else if (what === "move") await patch(id, when);
    else if (what === "edit") await patch(id, { body: bodyNow() });
    else if (what === "replace" && key !== undefined) {
      const wish = { body: bodyNow(), ...when };
      const sentAt = timeline.now();
      const answer = await api("PUT", `/topics/${topic}/jobs/${key}`, wish);
      note(answer, wish, sentAt, { changed: true, spread: usualSpread });
    } else if (what === "redrive") {
      world.counts.requests += REDRIVE_STEPS;
      const which = draws.chance(0.5) ? { ids: [id] } : { max: 10 };
      await api("POST", `/topics/${topic}/redrive`, { ...which, delay: draws.pick([0, 60, 600]) });
    }
  }

  async function forbidden(
    what: string,
    id: string,
    when: ReturnType<typeof time>,
  ): Promise<Answer | undefined> {
    switch (what) {
      case "cancel":
        return caller("DELETE", `/jobs/${id}`);
      case "cancel many": {
        const answer = await api("POST", "/jobs/cancel", { ids: [id] });
        const [result] = (answer?.body.results ?? []) as { status: number; error?: Answer["body"] }[];
        return result?.error ? { status: result.status, body: result.error } : answer;
      }
      case "redrive":
        return api("POST", `/topics/${topic}/redrive`, { ids: [id] });
      case "replace":
        return api("PUT", `/topics/${topic}/jobs/a`, { body: bodyNow(), ...when });
      default:
        return caller("PATCH", `/jobs/${id}`, what === "edit" ? { body: bodyNow() } : when);
    }
  }

  async function patch(id: string, wish: Wish): Promise<void> {
    const token = !direct && own.chance(0.4) ? `patch-${n}-${patches++}` : undefined;
    const headers = token === undefined ? {} : { "idempotency-key": token };
    if (token !== undefined && wish.body !== undefined) witness.repeats.gives(wish.body);
    const sentAt = timeline.now();
    const hasToken = token !== undefined;
    note(await caller("PATCH", `/jobs/${id}`, wish, headers), wish, sentAt, { changed: true, hasToken });
    if (token === undefined || own.chance(0.4)) return;
    if (own.chance(0.5)) await patch(id, { body: bodyNow() });
    await timeline.wait(own.next() * pickFrom(own, WAITS, stretch.waits));
    note(await caller("PATCH", `/jobs/${id}`, wish, headers), wish, sentAt, { changed: false });
  }
}

type Keyed = { key?: string; onDuplicate?: string; maxDelay?: number };
