import { runJobs } from "../consumer/run-jobs.ts";
import type { Policy } from "../core/policy.ts";
import { TIMERS } from "../http/timers.ts";
import type { Context } from "../protocol/ports.ts";
import { contextOf, type Rig } from "./rig.ts";

/** What requests came to, as DynamoDB counts its units and SQS its requests. */
export type Bill = {
  /** For jobs: what moves cursors is `cursors`, as it is the same for a thousand jobs as for one. */
  write: number;
  cursors: number;
  read: number;
  requests: number;
};

export const NOTHING: Bill = { write: 0, cursors: 0, read: 0, requests: 0 };

export type Metered = {
  readonly ctx: Context;
  /** What has been spent since the last time. */
  readonly bill: () => Bill;
};

const SQS_BATCH = 10;
const WAIT_SECONDS = 1;
const HIDE_SECONDS = 90;
const INVOCATION_MS = 60_000;

export function meter(
  rig: Rig,
  own: { table: string; topics: Policy["topics"]; clock: () => number },
): Metered {
  let spent = { ...NOTHING };
  const ctx = contextOf(rig, {
    ...own,
    onCapacity: (operation, { write, read }) => {
      // A job that succeeds is never changed alone.
      if (operation === "change") spent.cursors += write;
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

/** Runs `count` jobs with the real consumer, batch by batch, as an event source feeds it. */
export async function consume(ctx: Context, topic: string, count: number): Promise<void> {
  let started = 0;
  while (started < count) {
    const messages = await ctx.queues.receive(
      { topic },
      { max: SQS_BATCH, waitSeconds: WAIT_SECONDS, hideSeconds: HIDE_SECONDS },
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
