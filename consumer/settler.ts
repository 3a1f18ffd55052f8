import { messageOf } from "../core/errors.ts";
import type { Context } from "../protocol/ports.ts";
import { type Ending, type Held, type Settled, settleDone, settleOtherwise } from "../protocol/run/settle.ts";

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;

/**
 * Records how runs ended, while other jobs run. Runs that succeeded are gathered while a call is in flight, so that a busy consumer settles
 * in full batches. Each other run is settled by a call of its own. A settle that fails is tried again with exponential backoff
 * until `deadline` (ms since the epoch). Then the lease ends, and the run counts as crashed.
 */
export function createSettler(ctx: Context, deadline: number, wait: (ms: number) => Promise<void>) {
  const inHand = new Set<Promise<void>>();
  let gathered: { held: Held; told: (result: Settled | Error) => void }[] = [];
  let flushing = false;

  async function flush(): Promise<void> {
    if (flushing) return;
    flushing = true;
    while (gathered.length > 0) {
      const batch = gathered.slice(0, ctx.sizes.statements);
      gathered = gathered.slice(ctx.sizes.statements);
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
    flushing = false;
  }

  function recordDone(held: Held): Promise<Settled> {
    return new Promise((resolve, reject) => {
      gathered.push({ held, told: (result) => (result instanceof Error ? reject(result) : resolve(result)) });
      // In the next microtask, so that handlers that end together share a batch.
      queueMicrotask(() => void flush());
    });
  }

  return {
    /** Records one ending. Throws if it could not be recorded. */
    record(held: Held, ending: Ending): Promise<Settled> {
      return ending.end === "done" ? recordDone(held) : settleOtherwise(ctx, held, ending);
    },

    /**
     * Calls `record` until it succeeds or the lease ends. Calls `keep` if the message must stay: the run is not recorded, or its claim was
     * lost. A claim can also seem lost because of an earlier try of `record`: the try wrote the home, and failed before it sent the
     * job's next message.
     */
    settle(record: () => Promise<Settled>, keep: () => void): Promise<void> {
      const attempt = (async () => {
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
      })();
      const done = attempt.finally(() => inHand.delete(done));
      inHand.add(done);
      return done;
    },

    /** Resolves when every ending is recorded or given up. */
    async idle(): Promise<void> {
      while (inHand.size > 0) await Promise.all(inHand);
    },
  };
}
