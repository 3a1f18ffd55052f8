import { minuteOf } from "../core/item-keys.ts";
import { parseOccurrence } from "../core/occurrence.ts";
import { fileOccurrence } from "../protocol/file/recurring.ts";
import { tick } from "../protocol/hand-over/tick.ts";
import type { Context } from "../protocol/ports.ts";
import type { Deliverer } from "./deliver.ts";
import { passEmptyMinutes } from "./empty-minutes.ts";
import type { MemoryPool } from "./memory-pool.ts";
import type { MemoryQueues } from "./memory-queues.ts";
import type { MemorySchedules } from "./memory-schedules.ts";
import type { Notices } from "./notices.ts";
import { paceOf } from "./pace.ts";
import type { TestEvent } from "./test-queue.ts";
import { earliestOccurrences, nextDelivery, nextTick } from "./upcoming.ts";

export type Played = Deliverer & {
  readonly ctx: Context;
  /** Times are ms since the epoch. `lastTick`: when the latest tick ran. */
  readonly clock: { time: number; lastTick: number };
  readonly pool: MemoryPool;
  readonly queues: MemoryQueues;
  readonly schedules: MemorySchedules;
  readonly notices: Notices;
  /** Delivers an event to the topics. Throws if one cannot apply it. */
  readonly apply: (event: TestEvent) => Promise<void>;
  /** The paused topics, whose event sources are disabled. */
  readonly idle: ReadonlySet<string>;
  /** A cache of the starts of messages, by their ids. */
  readonly starts: Map<string, number>;
};

/** The deadline of a tick, ms from its start. The clock stands still while a tick runs. */
const TICK_TIME = 150_000;

/** Runs everything that falls due by `end` (ms since the epoch), in order, and moves the clock to `end`. */
export async function playUntil(played: Played, end: number): Promise<void> {
  const { ctx, clock, queues, runs, consumed } = played;
  const waiting = (): number => consumed.reduce((sum, topic) => sum + queues.messages({ topic }).length, 0);
  const pace = paceOf(ctx.clock, runs, waiting);
  for (;;) {
    await applyNotices(played);
    if (!(await step(played, end))) break;
    await pace();
  }
  // Tick at the last minute, so that the lags are correct at the end.
  if (minuteOf(end) > clock.lastTick) {
    clock.time = Math.max(clock.time, minuteOf(end));
    await runTick(played);
  }
  clock.time = end;
}

/** On AWS the rules of the event bus bring these events to the topics too. */
async function applyNotices({ notices, apply }: Played): Promise<void> {
  await notices.flush();
  for (const event of notices.takeNew()) await apply(event);
}

async function step(played: Played, end: number): Promise<boolean> {
  const { ctx, clock, pool, queues, schedules, idle, consumed, deliver, starts } = played;
  const ticking = await nextTick(ctx, pool, clock.lastTick);
  const occurring = await earliestOccurrences(ctx);
  const polled = consumed.filter((topic) => !idle.has(topic));
  const delivery = nextDelivery(queues, polled, starts);
  const next = Math.min(
    ...[ticking, occurring, delivery].map((one) => one?.time ?? Number.POSITIVE_INFINITY),
  );
  if (next > end) return false;
  clock.time = Math.max(clock.time, next);
  // File occurrences first: `earliestOccurrences` answers only occurrences after the clock's time, so the next step would skip these.
  if (occurring?.time === next) {
    for (const name of occurring.names) {
      await fileOccurrence(ctx, parseOccurrence(schedules.inputOf(name, next)));
    }
  } else if (ticking?.time === next) await runTick(played);
  else if (delivery) await deliver(delivery.topic, delivery.message);
  return true;
}

async function runTick({ ctx, clock, pool }: Played): Promise<void> {
  await passEmptyMinutes(ctx, pool);
  clock.lastTick = clock.time;
  await tick(ctx, clock.time + TICK_TIME);
}
