import { describe, expect, test } from "vitest";
import { LATE_AFTER, LEASE_GRACE, VISIBILITY_MARGIN } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import { parkedKey } from "../../../src/core/item-keys.ts";
import type { Pause } from "../../../src/core/items.ts";
import { SIZES, type Sizes } from "../../../src/core/work-sizes.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { reportTopics, type TopicReport } from "../../../src/protocol/read/topics.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { settlePulled } from "../../../src/protocol/run/settle-pulled.ts";
import { seededBytes } from "../../../src/testing/random.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const OPENS = 9 * HOUR;
const SHUTS = 10 * HOUR;
const pulled = { consumer: "pull", ttr: 60, backoff: { waits: [400, 4000] }, maxAttempts: 4 } as const;
const TOPICS = {
  plain: pulled,
  failing: pulled,
  paused: pulled,
  limited: { ...pulled, maxPerSecond: 0.2 },
  windowed: { ...pulled, window: "09:00-10:00 UTC" },
};
type Topic = keyof typeof TOPICS;
const NAMES = Object.keys(TOPICS) as Topic[];
/** Small bounds, so that a few hundred jobs reach them. */
const SMALL: Sizes = { ...SIZES, page: 20, heads: 10, listEntries: 60, countEntries: 240 };

type Truth = {
  readonly late: { readonly count: number; readonly since?: number };
  readonly retrying: { readonly count: number; readonly next?: number; readonly errors: readonly string[] };
};

/** Counts by a scan of all items, and by rules of its own. */
function truthOf(world: World, topic: Topic): Truth {
  const now = world.now();
  const waiting = homesOf(world).filter(
    (home) =>
      home.topic === topic &&
      (home.state === "scheduled" || (home.state === "running" && now >= home.leaseEnd + LEASE_GRACE)),
  );
  const late = lateTimes(world, topic, waiting);
  const retries = waiting.filter((home) => {
    const end = home.log?.findLast(({ what }) => what === "failed" || what === "asked-to-retry");
    return home.state === "scheduled" && home.attempt > 0 && end?.what === "failed" && home.dueAt > now;
  });
  const failedAt = Math.max(...retries.map(failureOf));
  const newest = retries.filter((home) => failureOf(home) === failedAt);
  return {
    late: { count: late.length, ...(late.length > 0 && { since: Math.min(...late) }) },
    retrying: {
      count: retries.length,
      ...(retries.length > 0 && { next: Math.min(...retries.map(startOf)) }),
      errors: newest.flatMap(({ lastError }) => lastError ?? []),
    },
  };
}

function homesOf(world: World): Home[] {
  return world.pool.items().filter((item): item is Home => "state" in item && "topic" in item);
}

function startOf({ dueAt, heldUntil = dueAt }: Home): number {
  return Math.max(dueAt, heldUntil);
}

/** Since when the jobs of the topic are late that nothing holds. */
function lateTimes(world: World, topic: Topic, waiting: readonly Home[]): number[] {
  const now = world.now();
  const items = world.pool.items();
  const places = new Set(items.map(({ pk, sk }) => `${pk} ${sk}`));
  const pause = items.find(({ pk }) => pk === `pause#${topic}`) as Pause | undefined;
  const isResuming = pause?.state === "resuming" && pause.expiresAt === undefined;
  const isHeld = (home: Home): boolean => {
    if (pause?.state === "paused" || startOf(home) > now) return true;
    const isPaced = isResuming && pause.rate !== undefined && home.state === "scheduled";
    if (isPaced && startOf(home) < pause.changedAt) return true;
    const { pk, sk } = parkedKey(home);
    return (topic === "limited" || isResuming) && places.has(`${pk} ${sk}`);
  };
  return waiting
    .filter((home) => !isHeld(home))
    .map((home) => {
      const start = home.state === "running" ? home.leaseEnd + VISIBILITY_MARGIN : startOf(home);
      const since = Math.max(start, pause?.followedAt ?? 0);
      return topic === "windowed" ? openFrom(since) : since;
    })
    .filter((since) => now - since >= LATE_AFTER);
}

/** `time`, or when the window opens next. */
function openFrom(time: number): number {
  const day = time - (time % (24 * HOUR));
  if (time < day + OPENS) return day + OPENS;
  return time < day + SHUTS ? time : day + 24 * HOUR + OPENS;
}

function failureOf({ log = [] }: Home): number {
  return log.findLast(({ what }) => what === "failed")?.at ?? 0;
}

/** Answers whether an answer was marked as incomplete. An answer without a mark must be the truth, and one with it must claim no more. */
function judge(report: TopicReport, { late, retrying }: Truth): boolean {
  const { late: said, retrying: saidRetrying, sampledSince } = report;
  const { error, failedAt, ...counted } = saidRetrying;
  if (said.atLeast) {
    expect(said.count).toBeLessThanOrEqual(late.count);
    if (said.count > 0) expect(said.since).toBeGreaterThanOrEqual(late.since ?? Infinity);
    if (sampledSince === undefined && said.count >= SMALL.listEntries) expect(said.since).toBe(late.since);
  } else expect({ topic: report.topic, late: said }).toEqual({ topic: report.topic, late });
  if (saidRetrying.atLeast) expect(counted.count).toBeLessThanOrEqual(retrying.count);
  else {
    const { errors, ...known } = retrying;
    expect({ topic: report.topic, retrying: counted }).toEqual({ topic: report.topic, retrying: known });
    if (error !== undefined) expect(errors).toContain(error);
  }
  if (sampledSince !== undefined) expect(said.atLeast).toBe(true);
  return said.atLeast === true || saidRetrying.atLeast === true;
}

async function judgeAll(world: World): Promise<number> {
  const reports = await reportTopics(world.ctx, NAMES);
  return reports.filter((report) => judge(report, truthOf(world, report.topic as Topic))).length;
}

/** One of `kinds`, and numbers below a bound, drawn from a seed. */
function drawsOf(seed: number) {
  const bytes = seededBytes(seed);
  const below = (bound: number): number => {
    const [high = 0, low = 0] = bytes(2);
    return Math.floor(((high * 256 + low) / 65_536) * bound);
  };
  return { below, pick: <T>(some: readonly T[]): T => some[below(some.length)] as T };
}
type Draws = ReturnType<typeof drawsOf>;

async function file(world: World, draws: Draws): Promise<void> {
  const topic = draws.pick(NAMES);
  const count = draws.pick([1, 5, 40, 90]);
  const dueAt = world.now() + draws.pick([0, SECOND, 5 * MINUTE, 20 * MINUTE]);
  const apart = draws.pick([0, 10, 2000]);
  const jobs = Array.from({ length: count }, (_, i) => ({ topic, body: "{}", dueAt: dueAt + i * apart }));
  await enqueueMany(world.ctx, jobs);
}

/** Some runs succeed, fail, or crash. */
async function work(world: World, draws: Draws): Promise<void> {
  const topic = draws.pick(NAMES);
  for (let left = draws.pick([1, 4, 12]); left > 0; left--) {
    const jobs = await receive(world.ctx, topic, { max: 10, waitSeconds: 0 }, world.timers);
    if (jobs.length === 0) return;
    for (const { receipt, id } of jobs) {
      const fails = topic === "failing" ? 0.9 : 0.2;
      const drawn = draws.below(100) / 100;
      if (drawn > 0.95) continue;
      if (drawn < fails) await settlePulled(world.ctx, topic, receipt, { end: "failed", error: `no ${id}` });
      else await settlePulled(world.ctx, topic, receipt, { end: "done" });
    }
  }
}

async function change(world: World, draws: Draws): Promise<void> {
  const homes = homesOf(world).filter(({ state }) => state === "scheduled");
  if (homes.length === 0) return;
  for (let left = draws.pick([1, 20]); left > 0; left--) {
    const { id } = draws.pick(homes);
    const dueAt = world.now() + draws.pick([0, 3 * MINUTE, HOUR]);
    await (draws.below(2) === 0 ? cancel(world.ctx, id) : reschedule(world.ctx, id, { dueAt })).catch(
      () => {},
    );
  }
}

async function pauseOrResume(world: World, draws: Draws): Promise<void> {
  const topic = draws.pick(["paused", "limited", "plain"] as const);
  const act = draws.below(3);
  if (act === 0) await pauseTopic(world.ctx, topic);
  else await resume(world.ctx, topic, act === 1 ? undefined : 1);
}

const ACTS: readonly ((world: World, draws: Draws) => Promise<unknown>)[] = [
  file,
  file,
  work,
  work,
  work,
  change,
  pauseOrResume,
  async (world, draws) => world.queues.purge({ topic: draws.pick(NAMES) }),
  (world, draws) => world.pass(draws.pick([SECOND, 6 * SECOND, 40 * SECOND, 5 * MINUTE])),
  (world, draws) => world.pass(draws.pick([MINUTE, 14 * MINUTE, 70 * MINUTE])),
  (world, draws) => world.pass(draws.pick([MINUTE, 20 * MINUTE, HOUR]), { ticks: false }),
];

async function cancelAll(world: World): Promise<void> {
  for (const { id, state } of homesOf(world)) if (state === "scheduled") await cancel(world.ctx, id);
}

/** The seeds of the worlds. */
const WORLDS = [1, 4, 15, 26, 215];

describe.each([
  ["usual bounds", SIZES],
  ["small bounds", SMALL],
])("with %s, a report of topics is the truth, or says that there may be more:", (_, sizes) => {
  test.each(WORLDS)("random world %i", async (seed) => {
    const world = createWorld({ topics: TOPICS }, sizes);
    const draws = drawsOf(seed * 7919);
    await world.tick();
    let marked = 0;
    for (let i = 0; i < 25; i++) {
      await draws.pick(ACTS)(world, draws);
      marked += await judgeAll(world);
    }
    if (sizes === SIZES) expect(marked).toBe(0);
    // The marks go away once audits have passed the notes of jobs that have ended.
    await resume(world.ctx, "paused", undefined);
    await cancelAll(world);
    await world.pass(80 * MINUTE);
    await cancelAll(world);
    await world.pass(80 * MINUTE);
    expect(await judgeAll(world)).toBe(0);
  });
});
