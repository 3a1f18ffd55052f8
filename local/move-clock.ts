import { setTimeout as sleep } from "node:timers/promises";
import type { StackFunctions } from "./functions/stack-functions.ts";
import type { PoolEntries } from "./pool-entries.ts";
import type { QueuesState } from "./processes/fauxqs.ts";
import type { MovingClock } from "./services/clock.ts";
import type { RuleSpec } from "./template/resources.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** A tick hands a job over three minutes before it is due. */
const SWEPT_BEFORE_MS = 4 * MINUTE_MS;
/** A tick looks again at a job that it has handed over, twelve minutes later at the latest. */
const AUDITED_AFTER_MS = 15 * MINUTE_MS;
/** How often and how many times in a row the stack must be found at rest: a message may be on its way to a poller. */
const LOOK_EVERY_MS = 10;
const LOOKS_AT_REST = 3;
/** How much real time a worker outside has for the jobs that it has received, before the clock moves on. */
const WORKERS_HAVE_MS = 1_000;
/** After so many schedules in a row that file no job, there is no next job. */
const MOST_SCHEDULES = 100;

export type ClockMoves = {
  /** Plays all that is due until then, in its order. Ends early once `signal` is aborted. */
  readonly moveBy: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Answers whether there was a job. */
  readonly moveToNextJob: (signal: AbortSignal) => Promise<boolean>;
};

type Stack = {
  readonly clock: MovingClock;
  readonly functions: Pick<StackFunctions, "running" | "hold" | "followClock">;
  readonly moveQueues: (ahead: number) => Promise<QueuesState | undefined>;
  /** The names of the queues whose messages the runner receives. */
  readonly consumed: () => ReadonlySet<string>;
  /** The rules that fire. */
  readonly rules: readonly Pick<RuleSpec, "everyMinutes" | "isTick">[];
  readonly checkMinute: () => void;
  readonly readPool: () => Promise<PoolEntries>;
  /** Stores how far the clock is ahead, so that a later start does not set it back. */
  readonly keep: (ahead: number) => void;
};

/** Moves the clock of a whole stack: docs/guides/local.md#move-the-clock. */
export function createClockMoves(stack: Stack): ClockMoves {
  const { clock, readPool } = stack;
  return {
    moveBy: (ms, signal) => moveTo(stack, clock.now() + ms, signal),
    moveToNextJob: async (signal) => {
      for (let tried = 0; tried < MOST_SCHEDULES && !signal.aborted; tried++) {
        const { jobs } = await readPool();
        const count = jobs.length;
        const now = clock.now();
        const starts = jobs.flatMap(({ startsAt, isWaiting }) =>
          isWaiting && startsAt > now ? startsAt : [],
        );
        const first = Math.min(Infinity, ...starts);
        const next = Math.min(clock.nextCall(), first);
        if (next === Infinity) return false;
        // SQS releases a message up to a second later.
        await moveTo(stack, Math.ceil(next / SECOND_MS) * SECOND_MS + SECOND_MS, signal);
        // A job that has started may wait for its next attempt already. A schedule may have filed a further job.
        if (first <= clock.now() || (await readPool()).jobs.length > count) return true;
      }
      return false;
    },
  };
}

async function moveTo(stack: Stack, time: number, signal: AbortSignal): Promise<void> {
  const { clock } = stack;
  for (;;) {
    const ofQueues = await restOf(stack, signal);
    const now = clock.now();
    if (signal.aborted || now >= time) return;
    const stops = [time, ofQueues, clock.nextCall(), nextRule(stack, now), await nextTick(stack, now)];
    await step(stack, Math.min(...stops));
  }
}

/** Waits until nothing runs and no message waits for a poller. Answers when a queue has the next message. */
async function restOf(stack: Stack, signal: AbortSignal): Promise<number> {
  const { clock, moveQueues, functions, consumed } = stack;
  let looks = 0;
  let known = new Set<string>();
  let handedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    const queues = await moveQueues(clock.ahead());
    if (queues?.handed.some((handle) => !known.has(handle))) handedAt = performance.now();
    known = new Set(queues?.handed);
    const ofRunner = consumed();
    const isAtRest =
      queues !== undefined &&
      // A call of the API that waits for a message does nothing meanwhile.
      functions.running() <= queues.waiting &&
      !queues.ready.some((name) => ofRunner.has(name)) &&
      (queues.handed.length === 0 || performance.now() - handedAt > WORKERS_HAVE_MS);
    looks = isAtRest ? looks + 1 : 0;
    if (signal.aborted || looks === LOOKS_AT_REST) return queues?.next ?? Infinity;
    await sleep(LOOK_EVERY_MS);
  }
}

/** First the functions, then the queues, whose messages call functions, and then what the runner itself calls. */
async function step({ clock, functions, moveQueues, keep, checkMinute }: Stack, time: number): Promise<void> {
  const ahead = Math.max(Math.ceil(time - Date.now()), clock.ahead());
  await functions.hold(async () => {
    keep(ahead);
    clock.setAhead(ahead);
    await functions.followClock();
    await moveQueues(ahead);
  });
  clock.makeDueCalls();
  checkMinute();
}

/** When the next rule of the app's own fires. */
function nextRule({ rules }: Stack, now: number): number {
  const times = rules.flatMap(({ isTick, everyMinutes }) => {
    const every = everyMinutes * MINUTE_MS;
    return isTick ? [] : (Math.floor(now / every) + 1) * every;
  });
  return Math.min(Infinity, ...times);
}

/** When the next tick has something to do. A tick without a job to look at would only take time. */
async function nextTick({ rules, readPool }: Stack, now: number): Promise<number> {
  if (!rules.some(({ isTick }) => isTick)) return Infinity;
  const next = (Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS;
  const { looks, hasParked } = await readPool();
  if (hasParked) return next;
  const first = looks.reduce(
    (first, look) => (look > now - AUDITED_AFTER_MS ? Math.min(first, look) : first),
    Infinity,
  );
  return Math.max(next, Math.floor((first - SWEPT_BEFORE_MS) / MINUTE_MS) * MINUTE_MS);
}
