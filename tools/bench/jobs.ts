import { DAY } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import type { NewJob } from "../../src/protocol/new-job.ts";
import type { Context } from "../../src/protocol/ports.ts";

/** The body of each job. A home with this body has about 270 bytes while its job waits, and about 375 when the job is done. */
export const BODY = { text: "remind the owner of the shop that an order is still unpaid", order: 31_415_926 };

/** How far ahead a job is due if filing it must send no message: ms. */
export const FAR = DAY;

export function newJobs(count: number, topic: string, dueAt: (index: number) => number): NewJob[] {
  return Array.from({ length: count }, (_, index) => ({
    topic,
    body: JSON.stringify(BODY),
    dueAt: dueAt(index),
  }));
}

export async function homesOf(ctx: Context, jobs: readonly NewJob[]): Promise<Home[]> {
  const insert = async (items: readonly unknown[]) => items.map(() => "inserted" as const);
  const send = async (_: unknown, messages: readonly unknown[]) =>
    messages.map(() => ({ outcome: "sent" }) as const);
  const dry: Context = {
    ...ctx,
    pool: { ...ctx.pool, insert },
    queues: { ...ctx.queues, send },
    report: () => {},
  };
  return (await enqueueMany(dry, jobs)).map((result) => {
    if (result instanceof Error) throw result;
    return result.home;
  });
}
