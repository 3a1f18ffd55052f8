import { STATEMENT_BATCH } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import type { Context } from "../protocol/ports.ts";
import { type Ending, type Held, settleDone, settleOtherwise } from "../protocol/settle.ts";

const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2_000;

/**
 * Records endings while other jobs run. What succeeded is gathered while a call is in flight, so that a busy
 * consumer settles in full batches; what failed is moved one by one. All of it is repeated until `deadline`,
 * when the lease ends and the run counts as crashed.
 */
export function createSettler(ctx: Context, deadline: number, wait: (ms: number) => Promise<void>) {
  const inHand = new Set<Promise<void>>();
  let gathered: { held: Held; told: (error?: Error) => void }[] = [];
  let flushing = false;

  async function flush(): Promise<void> {
    if (flushing) return;
    flushing = true;
    while (gathered.length > 0) {
      const batch = gathered.slice(0, STATEMENT_BATCH);
      gathered = gathered.slice(STATEMENT_BATCH);
      try {
        const results = await settleDone(
          ctx,
          batch.map(({ held }) => held),
          deadline,
        );
        for (const [i, { told }] of batch.entries())
          told(results[i] instanceof Error ? results[i] : undefined);
      } catch (error) {
        for (const { told } of batch) told(new Error(messageOf(error), { cause: error }));
      }
    }
    flushing = false;
  }

  function recordDone(held: Held): Promise<void> {
    return new Promise((resolve, reject) => {
      gathered.push({ held, told: (error) => (error ? reject(error) : resolve()) });
      // In the next microtask, so that handlers that end together share a batch.
      queueMicrotask(() => void flush());
    });
  }

  return {
    /** Records one ending; throws what kept it from being recorded. A claim that is lost is no error. */
    async record(held: Held, ending: Ending): Promise<void> {
      if (ending.end === "done") await recordDone(held);
      else await settleOtherwise(ctx, held, ending);
    },

    /** Repeats `record` until it works or the lease ends; then `failed` is told. */
    settle(record: () => Promise<void>, failed: () => void): void {
      const attempt = (async () => {
        for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
          try {
            return await record();
          } catch (error) {
            ctx.report({ type: "trouble", topic: "", what: "settling a job", error: messageOf(error) });
            if (ctx.clock() + pause >= deadline) return failed();
            await wait(pause);
          }
        }
      })();
      const done = attempt.finally(() => inHand.delete(done));
      inHand.add(done);
    },

    /** Resolves when everything is recorded or given up. */
    async idle(): Promise<void> {
      while (inHand.size > 0) await Promise.all(inHand);
    },
  };
}
