/** What a history without faults may cost (P6), in requests. docs/reliability.md states it. */
const BUDGET = {
  /** Of the pool: a tick's own, and its reads and marks in each shard. */
  tick: 1,
  tickOfShard: 10,
  /** Of the pool: whose letters lie in a tracked topic's DLQ, each tick. */
  letters: 1,
  /** Of the pool, on average: a call of a user's, an invocation of a consumer, a run. */
  step: 3,
  /** Of the ready queues, on average: a step. */
  queueStep: 2.25,
  /** Of a tracked topic's DLQ: a tick's look; where dead letters lie, a pass over a few of them. */
  tickOfTopic: 5,
} as const;

const QUEUE_CALLS = /Message|Queue/;
export const DLQ_CALL = "DLQ";

export type Spent = {
  /** Requests by operation. */
  calls: ReadonlyMap<string, number>;
  ticks: number;
  shards: number;
  trackedTopics: number;
  /** Users' calls, invocations and runs. */
  steps: number;
};

/** What was spent beyond the budget, in words. */
export function beyondBudget(spent: Spent): string | undefined {
  const { calls, ticks, shards, trackedTopics, steps } = spent;
  let [pool, queues, deadLetters] = [0, 0, 0];
  for (const [operation, count] of calls) {
    if (operation === DLQ_CALL) deadLetters += count;
    else if (QUEUE_CALLS.test(operation)) queues += count;
    else pool += count;
  }
  // The first tick reads the ten minutes before it.
  const ticked = ticks + 2;
  const most = {
    pool:
      ticked * (BUDGET.tick + shards * BUDGET.tickOfShard + trackedTopics * BUDGET.letters) +
      steps * BUDGET.step,
    queues: steps * BUDGET.queueStep,
    deadLetters: ticked * trackedTopics * BUDGET.tickOfTopic,
  };
  const what = `in ${ticks} ticks and ${steps} steps`;
  if (pool > most.pool) return `${pool} requests to the pool ${what}, at most ${most.pool} are allowed`;
  if (queues > most.queues) return `${queues} requests to SQS ${what}, at most ${most.queues} are allowed`;
  if (deadLetters > most.deadLetters)
    return `${deadLetters} requests to DLQs ${what}, at most ${most.deadLetters} are allowed`;
  return undefined;
}
