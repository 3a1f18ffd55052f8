import type { Home } from "../../src/core/home.ts";
import { parseMessage } from "../../src/core/message.ts";
import { isUnreadable } from "../../src/core/readable.ts";
import { SIZES, type Sizes } from "../../src/core/work-sizes.ts";
import { enqueue } from "../../src/protocol/file/enqueue.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Enqueued, NewJob } from "../../src/protocol/new-job.ts";
import type { Context, Timers } from "../../src/protocol/ports.ts";
import type { ProtocolEvent } from "../../src/protocol/reports.ts";
import { readHomes } from "../../src/protocol/store/read-job.ts";
import type { Policy } from "../../src/settings/policy.ts";
import { type MemoryPool, memoryPool } from "../../src/testing/memory-pool.ts";
import { type MemoryPromotions, memoryPromotions } from "../../src/testing/memory-promotions.ts";
import { type MemoryQueues, memoryQueues } from "../../src/testing/memory-queues.ts";
import { type MemorySchedules, memorySchedules } from "../../src/testing/memory-schedules.ts";
import { seededBytes } from "../../src/testing/random.ts";

export const SECOND = 1000;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const START = Date.UTC(2026, 2, 1, 9, 0, 0);

export type World = {
  ctx: Context;
  pool: MemoryPool;
  queues: MemoryQueues;
  promotions: MemoryPromotions;
  schedules: MemorySchedules;
  events: ProtocolEvent[];
  now: () => number;
  /** Lets time pass, with a tick at each whole minute on the way unless told otherwise. */
  pass: (ms: number, options?: { ticks?: false }) => Promise<void>;
  /** `wait` lets the world's time pass; `after` never calls back. */
  timers: Timers;
  tick: () => Promise<void>;
  file: (job: Partial<NewJob> & { delay?: number }) => Promise<Home>;
  fileAll: (job: Partial<NewJob> & { delay?: number }) => Promise<Enqueued>;
  home: (id: string) => Promise<Home>;
  /** The jobs in all messages of a topic that are visible now. The messages are not received. */
  visible: (topic: string) => { id: string; revision: number; attempt: number }[];
  /** Another writer or consumer on the same services, whose clock is `skew` ms ahead. */
  skewed: (skew: number) => Context;
};

const POLICY: Policy = {
  shards: 2,
  retention: 7 * 86_400,
  deadRetention: 90 * 86_400,
  topics: {
    orders: { backoff: { waits: [15, 180] }, maxAttempts: 3 },
    work: { consumer: "pull" },
    events: { consumer: "pull", tracking: "none" },
    precise: { precision: "millisecond" },
  },
};

/** The protocol over the in-memory services, with a clock that only tests move. */
export function createWorld(policy: Partial<Policy> = {}, sizes: Sizes = SIZES): World {
  let time = START;
  const now = (): number => time;
  const whole = { ...POLICY, ...policy };
  const ports = startServices(now, Object.keys(whole.topics));
  const events: ProtocolEvent[] = [];
  const report = (event: ProtocolEvent): void => void events.push(event);
  const ctx: Context = { ...ports, clock: now, random: seededBytes(0), policy: whole, sizes, report };
  const runTick = (): Promise<void> => tick(ctx, time + 150 * SECOND);

  const fileAll: World["fileAll"] = ({ delay = 0, ...job }) =>
    enqueue(ctx, { topic: "orders", body: "{}", dueAt: time + delay, ...job });
  const pass: World["pass"] = async (ms, { ticks } = {}) => {
    const end = time + ms;
    while (time < end) {
      const minute = time - (time % MINUTE) + MINUTE;
      time = Math.min(minute, end);
      if (time === minute && ticks !== false) await runTick();
    }
  };
  return {
    ctx,
    ...ports,
    events,
    now,
    tick: runTick,
    pass,
    timers: { wait: (ms) => pass(ms), after: () => () => {} },
    fileAll,
    file: async (job) => (await fileAll(job)).home,
    home: (id) => readableHome(ctx, id),
    visible: (topic) => visibleJobs(ports.queues, topic, time),
    skewed: (skew) => ({ ...ctx, clock: () => time + skew }),
  };
}

function startServices(clock: () => number, topics: string[]) {
  return {
    pool: memoryPool({ clock, createdAt: START - HOUR }),
    queues: memoryQueues({ clock, topics }),
    promotions: memoryPromotions({ clock }),
    schedules: memorySchedules({ clock }),
  };
}

async function readableHome(ctx: Context, id: string): Promise<Home> {
  const [home] = await readHomes(ctx, [id]);
  if (!home || isUnreadable(home)) throw new Error(`no job ${id} that can be read`);
  return home;
}

function visibleJobs(queues: MemoryQueues, topic: string, time: number): ReturnType<World["visible"]> {
  return queues
    .messages({ topic })
    .filter(({ visibleAt }) => visibleAt <= time)
    .flatMap(({ body }) => parseMessage(body)?.jobs ?? [])
    .map(({ id, revision, attempt }) => ({ id, revision, attempt }));
}

type BreakArguments = [
  where: "before" | "after",
  matches: (call: { operation: string; keys: readonly { pk: string; sk: string }[] }) => boolean,
];

/** Makes the first pool call that `matches` fail. `where`: before its effect, or after its effect (a lost answer). */
export function breakOnce(world: World, ...[where, matches]: BreakArguments): void {
  world.pool.hooks[where] = (call) => {
    if (!matches(call)) return;
    delete world.pool.hooks[where];
    throw new Error("crash");
  };
}

/** Makes each pool call that `matches` fail from now on, like the calls of a dead process. The returned function ends this. */
export function breakAll(world: World, ...[where, matches]: BreakArguments): () => void {
  world.pool.hooks[where] = (call) => {
    if (matches(call)) throw new Error("crash");
  };
  return () => delete world.pool.hooks[where];
}
