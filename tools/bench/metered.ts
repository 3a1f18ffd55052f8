import { runJobs } from "../../src/consumer/run-jobs.ts";
import { SQS_BATCH_ENTRIES } from "../../src/core/constants.ts";
import { TIMERS } from "../../src/environment/process.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { Policy } from "../../src/settings/policy.ts";
import { contextOf, type Rig } from "./rig.ts";

/** What requests cost: DynamoDB's units and SQS's requests. */
export type Bill = {
  write: number;
  /** Write units of cursors, which are the same for a thousand jobs as for one. */
  cursors: number;
  read: number;
  requests: number;
};

export const NOTHING: Bill = { write: 0, cursors: 0, read: 0, requests: 0 };

export type Metered = {
  readonly ctx: Context;
  readonly bill: () => Bill;
};

const WAIT_SECONDS = 1;
const HIDE_SECONDS = 90;
const INVOCATION_MS = 60_000;

/** Makes a context over a table, topics and a clock of a figure's own, and meters its requests. */
export function meter(
  rig: Rig,
  own: { table: string; topics: Policy["topics"]; clock: () => number },
): Metered {
  let spent = { ...NOTHING };
  const ctx = contextOf(rig, {
    ...own,
    onCapacity: (operation, { write, read }) => {
      // Only cursors are updated alone here: a job that succeeds is claimed and settled by statements.
      if (operation === "UpdateItem") spent.cursors += write;
      else spent.write += write;
      spent.read += read;
    },
    onRequest: () => {
      spent.requests += 1;
    },
  });
  return {
    ctx,
    bill: () => {
      const sum = spent;
      spent = { ...NOTHING };
      return sum;
    },
  };
}

/** Runs `count` jobs with the real consumer, in batches as an event source mapping delivers them. */
export async function consume(ctx: Context, topic: string, count: number): Promise<void> {
  let started = 0;
  while (started < count) {
    const messages = await ctx.queues.receive(
      { topic },
      { max: SQS_BATCH_ENTRIES, waitSeconds: WAIT_SECONDS, hideSeconds: HIDE_SECONDS },
    );
    if (messages.length === 0) throw new Error(`${count - started} of ${count} jobs have no message`);
    const deliveries = messages.map(({ body, handle }) => ({ messageId: handle, handle, body }));
    const run = async () => {
      started += 1;
      return { end: "done" } as const;
    };
    const kept = await runJobs(ctx, deliveries, run, ctx.clock() + INVOCATION_MS, TIMERS);
    const done = deliveries.filter(({ messageId }) => !kept.has(messageId));
    await ctx.queues.remove(
      { topic },
      done.map(({ handle }) => handle),
    );
  }
}
