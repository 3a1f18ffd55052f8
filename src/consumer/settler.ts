import { messageOf } from "../core/errors.ts";
import type { Context } from "../protocol/ports.ts";
import {
  type ClaimedRun,
  type Ending,
  type Settled,
  settleDone,
  settleOtherwise,
} from "../protocol/run/settle.ts";

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;

export type Settler = {
  record(held: ClaimedRun, ending: Ending): Promise<Settled>;
  /**
   * Calls `record` until it succeeds or the lease ends. Calls `keep` if it fails, or the claim seems lost: an earlier try may have written
   * the home, and failed before it sent the job's next message.
   */
  settle(record: () => Promise<Settled>, keep: () => void): Promise<void>;
  idle(): Promise<void>;
};

type Gathered = { readonly held: ClaimedRun; readonly told: (result: Settled | Error) => void };

type Done = { gathered: Gathered[]; isFlushing: boolean };

/**
 * Gathers runs that succeeded while a call is in flight, so that a busy consumer settles in full batches. After `deadline` (ms since the epoch)
 * a run that is not settled counts as crashed.
 */
export function createSettler(ctx: Context, deadline: number, wait: (ms: number) => Promise<void>): Settler {
  const inHand = new Set<Promise<void>>();
  const done: Done = { gathered: [], isFlushing: false };
  return {
    record: (held, ending) =>
      ending.end === "done" ? recordDone(ctx, done, held, deadline) : settleOtherwise(ctx, held, ending),
    settle(record, keep) {
      const settled = settleUntil(ctx, deadline, wait, record, keep).finally(() => inHand.delete(settled));
      inHand.add(settled);
      return settled;
    },
    async idle() {
      while (inHand.size > 0) await Promise.all(inHand);
    },
  };
}

function recordDone(ctx: Context, done: Done, held: ClaimedRun, deadline: number): Promise<Settled> {
  return new Promise((resolve, reject) => {
    const told = (result: Settled | Error) => (result instanceof Error ? reject(result) : resolve(result));
    done.gathered.push({ held, told });
    // Handlers that end together share a batch. In users' tests, fake timers may replace `queueMicrotask`, but no promise.
    void Promise.resolve().then(() => flush(ctx, done, deadline));
  });
}

async function flush(ctx: Context, done: Done, deadline: number): Promise<void> {
  if (done.isFlushing) return;
  done.isFlushing = true;
  while (done.gathered.length > 0) {
    const batch = done.gathered.slice(0, ctx.sizes.statements);
    done.gathered = done.gathered.slice(ctx.sizes.statements);
    try {
      const results = await settleDone(
        ctx,
        batch.map(({ held }) => held),
        deadline,
      );
      for (const [i, { told }] of batch.entries()) told(results[i] ?? new Error("no answer"));
    } catch (error) {
      for (const { told } of batch) told(new Error(messageOf(error), { cause: error }));
    }
  }
  done.isFlushing = false;
}

async function settleUntil(
  ctx: Context,
  deadline: number,
  wait: (ms: number) => Promise<void>,
  record: () => Promise<Settled>,
  keep: () => void,
): Promise<void> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      if ((await record()) === "lost") keep();
      return;
    } catch (error) {
      ctx.report({ type: "trouble", topic: "", what: "settling a job", error: messageOf(error) });
      if (ctx.clock() + pause >= deadline) return keep();
      await wait(pause);
    }
  }
}
