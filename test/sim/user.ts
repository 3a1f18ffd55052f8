import { LEAST_RETENTION } from "../../src/core/constants.ts";
import { noterOf } from "./answers.ts";
import type { Bus } from "./bus.ts";
import type { Draws } from "./draws.ts";
import { crowdedTopic, toldTopic, topicsOf } from "./habits.ts";
import type { Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { RECEIVER, UNTRACKED, UNWANTED, WEBHOOK_TOPICS } from "./topics.ts";
import type { Told } from "./witness/bench.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
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
/** Delays just below and above each bound that decides how a job is sent, in seconds. */
const DELAYS = [0, 0, 1, 5, 20, 60, 170, 180, 195, 209, 211, 225, 240, 300, 420, 600, 899, 901, 1200];
const SOON = [0, 1, 5];
const KEYS = ["a", "b"];
export const RIVALS_KEY = "a";
export const BOUNDS = [5, 60, 300, 900];
const SPREADS = [1, 30];

export type Callers = { api: Api; producers: Api; bus: Bus | undefined };

/** Users of a history do different things, or all of them compete for one key of one topic. */
export const THEMES = ["mixed", "mixed", "mixed", "one key"] as const;
type Theme = (typeof THEMES)[number];
/** What the users of one history do, and how often. The probabilities are of calls that have a key and so on. */
export type Habits = {
  readonly theme: Theme;
  readonly arena: string;
  readonly change: (draws: Draws) => string;
  readonly keyed: number;
  readonly once: number;
  readonly direct: number;
  readonly many: number;
};

export type User = ReturnType<typeof drawUser>;
type Seen = Pick<Told, "id" | "revision">;

export function drawUser(world: World, callers: Callers, n: number, draws: Draws, habits: Habits) {
  const person = drawPerson(world, callers, n, draws, habits);
  const filed = jobOf(person);
  // Not from `world.policy`, because a deployment may have removed the topic for a while.
  const usualSpread = topicsOf(world.habit)[person.topic]?.spread ?? 0;
  const spread = filed.job.spread ?? usualSpread;
  return { ...person, ...filed, usualSpread, spread, note: noterOf(world, person.topic) };
}

type Person = ReturnType<typeof drawPerson>;

function drawPerson(world: World, { api, producers, bus }: Callers, n: number, draws: Draws, habits: Habits) {
  const rivals = habits.theme === "one key";
  // Behaviour that was added later has draws of its own, so that the other draws of a seed stay as they were.
  const own = world.draws(`user ${n} too`);
  const usual = own.chance(0.6) ? toldTopic(world.habit) : undefined;
  const topic = rivals ? habits.arena : (crowdedTopic(world.seed) ?? usual ?? draws.pick(CHOICE));
  const tracked = !UNTRACKED.has(topic);
  let edit = 0;
  const unwanted = draws.chance(0.06);
  const keyed = draws.chance(habits.keyed);
  const key = tracked && (rivals || keyed) ? draws.pick(rivals ? [RIVALS_KEY] : KEYS) : undefined;
  // With a retention of minutes, which no deployment can have, TTL may delete a home whose `Idempotency-Key` must still answer.
  const remembersCalls = world.policy.retention * SECOND >= LEAST_RETENTION;
  const asksOnce = draws.chance(habits.once) && remembersCalls;
  const direct = draws.chance(habits.direct);
  return {
    ...{ world, api, bus, n, draws, own, habits, rivals, topic, tracked, key, remembersCalls, direct },
    once: asksOnce ? `token-${n}` : undefined,
    caller: direct ? producers : api,
    /** Habits that were added last: how the user asks for changes. */
    asking: world.draws(`user ${n} asks`),
    seen: undefined as Seen | undefined,
    reasons: 0,
    bodyNow: () => ({ n, edit: edit++, ...(unwanted && { text: UNWANTED }) }),
    patches: 0,
  };
}

function jobOf({ world, n, draws, own, rivals, topic, tracked, key, bodyNow }: Person) {
  const duplicate = draws.pick(["reject", "keep", "replace"]);
  const postpones = key !== undefined && own.chance(0.2);
  const onDuplicate = postpones ? "postpone" : duplicate;
  const job = {
    topic,
    body: bodyNow(),
    ...drawTime({ world, draws, rivals }),
    ...(key !== undefined && { key, onDuplicate }),
    ...(postpones && { maxDelay: own.pick(BOUNDS) }),
    ...(own.chance(0.05) && { spread: own.pick(SPREADS) }),
    ...(draws.chance(0.1) && tracked && { expiresAfter: draws.whole(1, 600) }),
    ...(draws.chance(rivals ? 0.7 : 0.2) && { maxAttempts: draws.whole(1, 2) }),
    ...(WEBHOOK_TOPICS.includes(topic) && draws.chance(0.3) && { callbackUrl: `${RECEIVER}/${n}` }),
    ...(draws.chance(0.1) && { group: draws.pick(["g", "h"]) }),
  };
  return { postpones, onDuplicate, job };
}

export function drawTime({ world, draws, rivals }: Pick<Person, "world" | "draws" | "rivals">) {
  const { timeline, stretch } = world;
  const delay = pickFrom(draws, rivals ? SOON : DELAYS, stretch.delays);
  return draws.chance(0.15)
    ? { dueAt: new Date(timeline.now() - 2 * delay * SECOND).toISOString() }
    : { delay };
}
