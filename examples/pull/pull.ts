import { setTimeout as sleep } from "node:timers/promises";
import { type Client, MinutehandError, type PulledJob } from "minutehand/client";

type Run<Body> = (job: PulledJob<Body>, lost: AbortSignal) => Promise<void>;
type Options = { stop: AbortSignal; extendEvery?: number }; // in seconds, well below the topic's `ttr`

/** Runs the jobs of a topic, one at a time, until `stop` is aborted. `lost` is aborted when a job is no longer this worker's. */
export async function pull<T, N extends keyof T & string>(
  queue: Client<T>,
  topic: N,
  run: Run<T[N]>,
  { stop, extendEvery = 10 }: Options,
): Promise<void> {
  while (!stop.aborted) {
    try {
      // Do not give `stop` to this call: an aborted `receive` may have claimed a job.
      for (const job of await queue.receive(topic, { waitSeconds: 20 })) {
        const lost = new AbortController();
        const extend = () => queue.extend(topic, job.receipt, 30).catch((error) => lost.abort(error));
        const timer = setInterval(extend, extendEvery * 1000);
        const failure = await run(job, lost.signal).catch((error: unknown) => ({ error: String(error) }));
        clearInterval(timer);
        await (failure ? queue.retry(topic, job.receipt, failure) : queue.finish(topic, job.receipt));
      }
    } catch (error) {
      // The API was away, or the lease has ended. Other errors need a person.
      const isPassing = error instanceof MinutehandError && /^(unavailable|claim-lost)$/.test(error.code);
      if (!isPassing) throw error;
      console.error(`${topic}: ${error.message}`);
      await sleep(1000);
    }
  }
}
