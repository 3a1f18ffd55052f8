/** What a history without faults may cost (P6), in requests. docs/reliability.md states it. */
export const BUDGET = {
  /** Of the pool: a tick's own, and its reads and marks in each shard. */
  tick: 1,
  tickOfShard: 9,
  /** Of the pool, on average: a call of a user's, an invocation of a consumer, a run. */
  step: 3,
  /** Of SQS: a tick's look at each tracked topic's DLQ, and on average a step. */
  tickOfTopic: 1,
  queueStep: 2.25,
} as const;

const QUEUE_CALLS = /Message|Queue/;

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
  let [pool, queues] = [0, 0];
  for (const [operation, count] of calls) {
    if (QUEUE_CALLS.test(operation)) queues += count;
    else pool += count;
  }
  // The first tick reads the ten minutes before it.
  const ticked = ticks + 2;
  const most = {
    pool: ticked * (BUDGET.tick + shards * BUDGET.tickOfShard) + steps * BUDGET.step,
    queues: ticked * trackedTopics * BUDGET.tickOfTopic + steps * BUDGET.queueStep,
  };
  const what = `in ${ticks} ticks and ${steps} steps`;
  if (pool > most.pool) return `${pool} requests to the pool ${what}, at most ${most.pool} are allowed`;
  if (queues > most.queues) return `${queues} requests to SQS ${what}, at most ${most.queues} are allowed`;
  return undefined;
}
