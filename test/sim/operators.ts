import { mustRefuse } from "./answers.ts";
import type { Draws } from "./draws.ts";
import { crowdedTopic, toldTopic } from "./habits.ts";
import type { Api } from "./platform.ts";
import { pickFrom } from "./stretch.ts";
import { LAMBDA_TOPICS, TOPICS, UNTRACKED } from "./topics.ts";
import type { World } from "./world.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Seconds: a moment, shorter than processes use a known pause, longer than jobs are near, and longer than the audit waits. */
const PAUSES = [1, 3, 20, 90, 240, 600, 900];
const RATES = [undefined, undefined, 0.1, 1, 20];
/** By then, no earlier request can still take effect. */
const SETTLED = 7 * MINUTE;
const TRIES = 3;
/** A resume reads and releases the parked jobs of each shard: it counts as this many requests more. */
const RESUME_STEPS = 3;

/** Users who pause and resume topics. In the end all topics are resumed. */
export function operators(world: World, api: Api): void {
  const { timeline, plan, stretch } = world;
  const draws = world.draws("operators");
  const crowded = crowdedTopic(world.seed);
  // `ifLate` does not count the time of a pause. To test this, histories with `ifLate` have more pauses.
  const isOften = crowded !== undefined || world.habit.kind === "late";
  const count = draws.chance(isOften ? 0.8 : 0.4) ? draws.whole(1, 2) : 0;
  const paused = new Set<string>();
  for (let n = 1; n <= count; n++) {
    const own = world.draws(`operator ${n}`);
    const told = own.chance(0.7) ? toldTopic(world.habit) : undefined;
    const topic = crowded ?? told ?? own.pick(Object.keys(TOPICS));
    const time = timeline.now() + own.next() * stretch.span * 0.8;
    if (world.isLeftOut(`operator:${n}`)) continue;
    if (!UNTRACKED.has(topic)) paused.add(topic);
    world.join(time, () => operate(world, api, own, topic));
  }
  // Lambda's own API may refuse to poll a queue again for as long as the topic's resume lasts.
  const outage = plan.spells.find(({ kind }) => kind === "sources-down");
  const own = world.draws("operator 3");
  if (outage && own.chance(0.7) && !world.isLeftOut("operator:3")) {
    const topic = own.pick(LAMBDA_TOPICS.filter((name) => !UNTRACKED.has(name)));
    paused.add(topic);
    const time = Math.max(timeline.now(), outage.from - MINUTE);
    world.join(time, () => pauseUntil(world, api, topic, outage.from));
  }
  const end = Math.max(timeline.now() + stretch.span, plan.calmFrom) + SETTLED;
  for (const topic of paused) world.join(end, () => letGoAtLast(world, api, topic));
}

async function operate(world: World, api: Api, draws: Draws, topic: string): Promise<void> {
  const { timeline, stretch } = world;
  if (UNTRACKED.has(topic)) return mustRefuse(world, "a pause", await api("POST", `/topics/${topic}/pause`));
  for (let i = draws.whole(1, 3); i > 0; i--) {
    await hold(world, api, topic);
    await timeline.wait(pickFrom(draws, PAUSES, stretch.pauses) * SECOND);
    if (draws.chance(0.15)) await hold(world, api, topic);
    await letGo(world, api, topic, draws.pick(RATES), TRIES);
    await timeline.wait(draws.next() * draws.pick([2 * SECOND, 3 * MINUTE, 10 * MINUTE]));
  }
}

async function pauseUntil(world: World, api: Api, topic: string, time: number): Promise<void> {
  await hold(world, api, topic);
  await world.timeline.wait(Math.max(0, time - world.timeline.now()));
  await letGo(world, api, topic, undefined, TRIES);
}

async function hold({ timeline, witness }: World, api: Api, topic: string): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    const askedAt = timeline.now();
    witness.pauses.pauseAsked(topic);
    const answer = await api("POST", `/topics/${topic}/pause`);
    if (answer?.status === 200) return witness.pauses.paused(topic, askedAt);
    await timeline.wait(5 * SECOND);
  }
}

async function letGo(
  world: World,
  api: Api,
  topic: string,
  ratePerSecond: number | undefined,
  tries: number,
): Promise<void> {
  const { timeline, witness } = world;
  for (let i = 0; i < tries; i++) {
    const askedAt = timeline.now();
    witness.pauses.resumeAsked(topic);
    world.counts.requests += RESUME_STEPS;
    const rate = ratePerSecond === undefined ? {} : { ratePerSecond };
    const answer = await api("POST", `/topics/${topic}/resume`, rate);
    if (answer?.status === 200)
      return witness.pauses.resumed(topic, askedAt, ratePerSecond ?? Number.POSITIVE_INFINITY);
    await timeline.wait(5 * SECOND);
  }
}

async function letGoAtLast(world: World, api: Api, topic: string): Promise<void> {
  for (;;) {
    const askedAt = world.timeline.now();
    const answer = await api("GET", `/topics/${topic}`);
    const { state } = (answer?.body.pause ?? {}) as { state?: string };
    if (answer?.status === 200 && state !== "paused") return world.witness.pauses.resumed(topic, askedAt);
    await letGo(world, api, topic, undefined, 1);
  }
}
