/**
 * Pulls the jobs of a topic, `thumbnail` by default, over HTTP: node pull/worker.ts [TOPIC] [--once]
 *
 * MINUTEHAND_URL is the address of the API. Without it, the worker calls the local stack.
 *
 * To stop the worker, send it SIGTERM. Its last `receive` ends, which takes up to 20 seconds, and so does a job that still comes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type PulledJob, pull } from "minutehand/client";
import type { Topics } from "../topics.ts";

const [topic = "thumbnail"] = process.argv.slice(2).filter((argument) => argument !== "--once");
const url = process.env.MINUTEHAND_URL ?? "http://127.0.0.1:4500";
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

/** Does the work of a job. If it throws, the job runs again by the topic's backoff. */
async function makeThumbnail({ body, attempt }: PulledJob<Topics["thumbnail"]>, lost: AbortSignal) {
  if (body.width <= 0) throw new RangeError(`width must be more than 0, is ${body.width}`);
  // Stands for the work.
  await sleep(Number(process.env.WORK_SECONDS ?? 0) * 1000, undefined, { signal: lost });
  console.log(`${body.image} at ${body.width} px, attempt ${attempt}`);
}

console.error(`waits for jobs of ${topic} at ${url}`);
await pull(
  createClient<Record<string, Topics["thumbnail"]>>({ url }),
  topic,
  async (job, lost) => {
    if (process.argv.includes("--once")) stop.abort();
    await makeThumbnail(job, lost);
  },
  { stop: stop.signal, extendEvery: Number(process.env.EXTEND_EVERY ?? 10) },
).catch((error: Error) => {
  // For example, the queue has no such topic.
  console.error(error.message);
  process.exitCode = 1;
});
