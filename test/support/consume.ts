import { runJobs } from "../../src/consumer/run-jobs.ts";
import type { MessageJob } from "../../src/core/message.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { Ending } from "../../src/protocol/run/settle.ts";
import type { World } from "./world.ts";

export type Run = { id: string; revision: number; attempt: number; at: number };

/** Receives once, runs the visible jobs, and deletes the messages that are done. Waiting moves the world's clock. */
export async function consume(
  world: World,
  topic: string,
  options: {
    run?: (job: MessageJob) => Promise<Ending> | Ending;
    ctx?: Context;
    timeout?: number;
    max?: number;
  } = {},
): Promise<Run[]> {
  const { ctx = world.ctx, timeout = 30_000, run = () => ({ end: "done" }) as const } = options;
  const runs: Run[] = [];
  const messages = await world.queues.receive(
    { topic },
    { max: options.max ?? 10, waitSeconds: 0, hideSeconds: timeout / 1000 + 30 },
  );
  const kept = await runJobs(
    ctx,
    messages.map(({ body, handle, receives }) => ({ messageId: handle, handle, body, receives })),
    async (job) => {
      runs.push({ id: job.id, revision: job.revision, attempt: job.attempt, at: world.now() });
      return run(job);
    },
    ctx.clock() + timeout,
    { wait: (ms) => world.pass(ms), after: () => () => {} },
  );
  const done = messages.map(({ handle }) => handle).filter((handle) => !kept.has(handle));
  await world.queues.remove({ topic }, done);
  return runs;
}

/** An invocation that claims the visible jobs and dies in its first handler, so it settles and deletes nothing. */
export async function crashWhileRunning(world: World, topic: string, timeout = 30_000): Promise<Run[]> {
  const runs: Run[] = [];
  const messages = await world.queues.receive(
    { topic },
    { max: 10, waitSeconds: 0, hideSeconds: timeout / 1000 + 30 },
  );
  const dead = new Promise<never>(() => {});
  const reached = new Promise<void>((resolve) => {
    void runJobs(
      world.ctx,
      messages.map(({ body, handle }) => ({ messageId: handle, handle, body })),
      (job) => {
        runs.push({ id: job.id, revision: job.revision, attempt: job.attempt, at: world.now() });
        setImmediate(resolve);
        return dead;
      },
      world.now() + timeout,
      { wait: () => dead, after: () => () => {} },
    );
  });
  if (messages.length > 0) await reached;
  return runs;
}
