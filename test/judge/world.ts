import { BACKLOG_PATIENCE } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { Policy, TopicPolicy } from "../../src/settings/policy.ts";
import { memoryPool } from "../../src/testing/memory-pool.ts";
import { memoryPromotions } from "../../src/testing/memory-promotions.ts";
import { memoryQueues } from "../../src/testing/memory-queues.ts";
import { memorySchedules } from "../../src/testing/memory-schedules.ts";
import { seededBytes } from "../../src/testing/random.ts";
import { type Draws, drawsOf } from "../sim/draws.ts";
import { timelineFrom } from "../sim/timeline.ts";
import { createApi } from "./api.ts";
import { type Call, createLink } from "./link.ts";
import { linkedPool, linkedQueues } from "./services.ts";
import { CALM, type Weather } from "./weather.ts";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const START = Date.UTC(2026, 2, 1, 9, 0, 0);
/** Crashed runs, audits and retries are over by then. A lost message waits an hour if a backlog makes consumers seem behind. */
export const CALM_FOR = BACKLOG_PATIENCE + 30 * MINUTE;
/** How far a clock is off at most. */
export const SKEW = 7 * SECOND;

const TOPIC = { consumer: "pull", ttr: 30, maxAttempts: 2, backoff: { waits: [5, 20] } } as const;
export const TOPICS = ["orders", "bills"] as const;

/** What a judge says about one history. `stats`: how often something happened. */
export type History = {
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly stats: Readonly<Record<string, number>>;
};

type Options = {
  readonly seed: number;
  readonly isTraced: boolean;
  readonly draws: Draws;
  readonly shards: number;
  readonly topics?: Record<string, Partial<TopicPolicy>>;
  /** The weather until `calmFrom`. From then on it is calm. */
  readonly weather: Weather;
  readonly calmFrom: number;
};

type ProcessOptions = { isCalm?: true; latency?: number; sizes?: Sizes; more?: Partial<Context> };

export type World = ReturnType<typeof createWorld>;
export type Process = ReturnType<World["spawn"]>;

/** The services in memory, processes that call them in some weather, and the notes of the judge. */
export function createWorld({ seed, isTraced, draws, shards, topics, weather, calmFrom }: Options) {
  const timeline = timelineFrom(START);
  const clock = timeline.now;
  const policy = policyOf(shards, topics);
  const pool = memoryPool({ clock, createdAt: START - HOUR });
  const queues = memoryQueues({ clock, topics: Object.keys(policy.topics) });
  const ports = { promotions: memoryPromotions({ clock }), schedules: memorySchedules({ clock }) };
  const [random, faults] = [seededBytes(seed), drawsOf(seed, "faults")];
  const { say, accuse, ...notes } = takeNotes(clock, isTraced);
  /** Each gets each home of a job as a write has left it. */
  const onHome: ((home: Home) => void)[] = [];
  const stored = async ({ name, keys }: Call): Promise<void> => {
    say(`${name} ${keys.map(({ pk, sk }) => `${pk} ${sk}`).join(", ")}`);
    for (const item of await pool.read(keys))
      if (item && "body" in item) for (const see of onHome) see(item as Home);
  };
  const isCalm = (): boolean => clock() >= calmFrom;
  const spawn = ({ isCalm: calm, latency = 30, sizes = SIZES, more }: ProcessOptions = {}) => {
    const own = (): Weather => (calm || isCalm() ? CALM : weather);
    const skew = draws.whole(-SKEW, SKEW);
    const link = createLink({ timeline, draws: faults, weather: own, latency, skew, stored });
    const ctx: Context = {
      ...{ ...ports, pool: linkedPool(pool, link), queues: linkedQueues(queues, link), clock: link.clock },
      ...{ random, policy: { ...policy }, sizes, report: () => {}, ...more },
    };
    return { ctx, ask: createApi(ctx, timeline, accuse), isDead: link.isDead, kill: link.kill };
  };
  say(`weather ${JSON.stringify(weather)} until ${(calmFrom - START) / SECOND} s, ${shards} shards`);
  return {
    ...{ timeline, pool, queues, draws, calmFrom, isCalm, spawn, say, accuse, ...notes, onHome },
    hasFaults: weather !== CALM,
    plan(times: number, from: number, to: number, act: () => void): void {
      for (let i = 0; i < times; i++) timeline.at(draws.whole(from, to), act);
    },
    /** Changes the number of shards for processes that start from now on. */
    deploy: (newShards: number): void => void Object.assign(policy, { shards: newShards }),
  };
}

function policyOf(shards: number, topics: Options["topics"]): Policy {
  const all = { orders: TOPIC, bills: TOPIC, ...topics };
  return { shards, retention: 86_400, deadRetention: 90 * 86_400, topics: all };
}

function takeNotes(clock: () => number, isTraced: boolean) {
  /** The first violation of each kind. */
  const violations = new Map<string, string>();
  const trace: string[] = [];
  const stats: Record<string, number> = {};
  const stamped = (text: string): string => `${((clock() - START) / SECOND).toFixed(3)}s ${text}`;
  const say = (text: string): void => {
    if (isTraced) trace.push(stamped(text));
  };
  return {
    say,
    /** Notes a broken promise. The same sentence about other jobs is noted once. */
    accuse(text: string): void {
      const kind = text.replace(/[0-9A-Z]{26}/g, "ID").replace(/\d+/g, "N");
      say(`VIOLATION ${text}`);
      if (!violations.has(kind)) violations.set(kind, stamped(text));
    },
    count(name: string): void {
      stats[name] = (stats[name] ?? 0) + 1;
    },
    history: (): History => ({ violations: [...violations.values()], trace, stats }),
  };
}
