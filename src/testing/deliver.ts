import { type RunJob, runJobs } from "../consumer/run-jobs.ts";
import type { Context } from "../protocol/ports.ts";
import type { ProtocolEvent } from "../protocol/reports.ts";
import type { MemoryMessage } from "./memory-messages.ts";
import type { MemoryQueues } from "./memory-queues.ts";
import { endsWithin } from "./real-time.ts";
import { STILL } from "./still-timers.ts";
import { type AnyTopics, runOf } from "./topics.ts";

/**
 * A run of a handler, or a call to a receiver. `error`: what the handler threw, with stack and `cause`; of a buried job and of a failed
 * call, the reason as text. Absent if the run did not fail.
 */
export type Run = {
  readonly topic: string;
  readonly id: string;
  readonly attempt: number;
  readonly at: Date;
  readonly body: unknown;
  readonly error?: unknown;
};

/** The timeout of the consumer's function, ms. It is also the lease of a claim. */
const TIMEOUT = 30_000;
const HIDE_SECONDS = 60;
const PATIENCE = 5000;

/** Stands in for Lambda: delivers messages one at a time, and records the runs. `patience`: how long a run may take, real ms. */
export function deliverer(ctx: Context, queues: MemoryQueues, topics: AnyTopics, patience = PATIENCE) {
  const runs: Run[] = [];
  const running = new Map<string, RunJob>();
  for (const [name, topic] of Object.entries(topics)) {
    const run = runOf(ctx, topic);
    if (run) running.set(name, run);
  }
  const recorded =
    (run: RunJob): RunJob =>
    async (job, topic, signal) => {
      const { id, attempt } = job;
      // Copy the body before the run, because a handler may change it.
      const body = structuredClone(job.body);
      const at = new Date(ctx.clock());
      const ending = await within(patience, run(job, topic, signal), `topic ${topic} of job ${id}`);
      const reason = "error" in ending ? { error: ending.thrown ? ending.thrown.value : ending.error } : {};
      runs.push({ topic, id, attempt, at, body, ...reason });
      return ending;
    };
  return {
    runs: runs as readonly Run[],
    consumed: [...running.keys()],
    async deliver(topic: string, { id }: MemoryMessage): Promise<void> {
      const run = running.get(topic);
      const message = queues.take({ topic }, id, HIDE_SECONDS);
      if (!run || !message) return;
      const { body, handle } = message;
      const deadline = ctx.clock() + TIMEOUT;
      const kept = await runJobs(ctx, [{ messageId: id, handle, body }], recorded(run), deadline, STILL);
      if (!kept.has(id)) await queues.remove({ topic }, [handle]);
    },
  };
}

export type Deliverer = ReturnType<typeof deliverer>;

/** Throws an error that the deployed queue would log and retry. In memory nothing fails by chance, so the test must see the error. */
export function throwTrouble(event: ProtocolEvent): void {
  if (event.type !== "trouble") return;
  const whose = event.topic === "" ? "" : ` of topic ${event.topic}`;
  throw new Error(`${event.what}${whose} failed: ${event.error}`);
}

async function within<T>(patience: number, work: Promise<T>, whose: string): Promise<T> {
  if (await endsWithin(patience, work)) return work;
  const rule =
    "the queue's clock stands still while a handler runs, so a handler must not wait for a later time";
  throw new Error(`the handler of ${whose} has not ended in ${patience} ms: ${rule}`);
}
