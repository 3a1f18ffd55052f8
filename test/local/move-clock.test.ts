import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createClockMoves } from "../../local/move-clock.ts";
import type { PoolEntries } from "../../local/pool-entries.ts";
import { createClock } from "../../local/services/clock.ts";

const NOON = Date.UTC(2026, 2, 12, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EMPTY: PoolEntries = { looks: [], jobs: [], hasParked: false };

beforeEach(() => vi.useFakeTimers({ now: NOON, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A stack in which nothing runs, unless a test says so. `stops`: where the clock stopped, ms after noon. */
function stackWith(pool: Partial<PoolEntries> = {}, rules = [{ everyMinutes: 1, isTick: true }]) {
  const clock = createClock();
  const stops: number[] = [];
  const queues = { ready: [] as string[], waiting: 0, handed: [], next: undefined as number | undefined };
  const functions = { running: 0 };
  const kept: number[] = [];
  const moves = createClockMoves({
    clock,
    functions: {
      running: () => functions.running,
      hold: (move) => move(),
      followClock: async () => {},
    },
    moveQueues: async () => {
      if (queues.next !== undefined && queues.next <= clock.now()) queues.next = undefined;
      return { ...queues };
    },
    consumed: () => new Set(["work"]),
    rules,
    checkMinute: () => stops.push(clock.now() - NOON),
    readPool: async () => ({ ...EMPTY, ...pool }),
    keep: (ahead) => kept.push(ahead),
  });
  return { clock, stops, queues, functions, kept, moves };
}

const goesOn = new AbortController().signal;

test("without anything due, the clock goes there in one step, and keeps how far it is ahead", async () => {
  const { moves, stops, kept } = stackWith();
  await moves.moveBy(HOUR, goesOn);
  expect({ stops, kept }).toEqual({ stops: [HOUR], kept: [HOUR] });
});

test("the clock stops at planned calls, at messages and at the app's own rules, in their order", async () => {
  const { moves, stops, queues, clock } = stackWith({}, [
    { everyMinutes: 1, isTick: true },
    { everyMinutes: 20, isTick: false },
  ]);
  const calls: number[] = [];
  clock.callAt(NOON + 30_500, () => calls.push(clock.now() - NOON));
  queues.next = NOON + 10 * MINUTE + 7;
  await moves.moveBy(HOUR, goesOn);
  expect(stops).toEqual([30_500, 10 * MINUTE + 7, 20 * MINUTE, 40 * MINUTE, HOUR]);
  expect(calls).toEqual([30_500]);
});

test("ticks run from four minutes before a look at a job until it is audited", async () => {
  const { moves, stops } = stackWith({ looks: [NOON + 30 * MINUTE + 1] });
  await moves.moveBy(HOUR, goesOn);
  const ticks = Array.from({ length: 21 }, (_, at) => (26 + at) * MINUTE);
  expect(stops).toEqual([...ticks, HOUR]);
});

test("ticks run each minute while jobs are parked", async () => {
  const { moves, stops } = stackWith({ hasParked: true });
  await moves.moveBy(5 * MINUTE, goesOn);
  expect(stops).toEqual([1, 2, 3, 4, 5].map((minute) => minute * MINUTE));
});

test.each([
  ["an invocation runs", { running: 1, ready: [] }],
  ["a message waits for a poller", { running: 0, ready: ["work"] }],
])("the clock waits while %s", async (_, { running, ready }) => {
  const stack = stackWith();
  stack.functions.running = running;
  stack.queues.ready.push(...ready);
  const moved = stack.moves.moveBy(MINUTE, goesOn);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(stack.stops).toEqual([]);
  stack.functions.running = 0;
  stack.queues.ready.length = 0;
  await moved;
  expect(stack.stops).toEqual([MINUTE]);
});

test("neither a call that waits for a message holds the clock, nor a message that nobody polls", async () => {
  const { moves, stops, queues, functions } = stackWith();
  functions.running = 1;
  queues.waiting = 1;
  queues.ready.push("dlq");
  await moves.moveBy(MINUTE, goesOn);
  expect(stops).toEqual([MINUTE]);
});

test("the clock goes just past the next job that waits, and says if there is none", async () => {
  const jobs = [
    { startsAt: NOON + MINUTE, isWaiting: false },
    { startsAt: NOON + HOUR - 300, isWaiting: true },
  ];
  const { moves, clock } = stackWith({ jobs });
  expect(await moves.moveToNextJob(goesOn)).toBe(true);
  expect(clock.now() - NOON).toBe(HOUR + 1_000);
  expect(await moves.moveToNextJob(goesOn)).toBe(false);
});

test("the clock stays at the next job, also if that job waits for its next attempt then", async () => {
  const jobs = [{ startsAt: NOON + HOUR, isWaiting: true }];
  const { moves, clock } = stackWith({ jobs });
  clock.callAt(NOON + HOUR, () => jobs.splice(0, 1, { startsAt: NOON + 3 * HOUR, isWaiting: true }));
  expect(await moves.moveToNextJob(goesOn)).toBe(true);
  expect(clock.now() - NOON).toBe(HOUR + 1_000);
});

test("the clock stays at the next occurrence of a schedule, also if its job waits for its next attempt then", async () => {
  const jobs = [{ startsAt: NOON - HOUR, isWaiting: false }];
  const { moves, clock } = stackWith({ jobs });
  clock.callAt(NOON + HOUR, () => jobs.push({ startsAt: NOON + 3 * HOUR, isWaiting: true }));
  expect(await moves.moveToNextJob(goesOn)).toBe(true);
  expect(clock.now() - NOON).toBe(HOUR + 1_000);
});

test("a caller that has gone ends the move", async () => {
  const { moves, stops } = stackWith({ hasParked: true });
  await moves.moveBy(HOUR, AbortSignal.abort());
  expect(stops).toEqual([]);
});
