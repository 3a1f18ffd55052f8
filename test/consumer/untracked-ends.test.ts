import { expect, test } from "vitest";
import { runJobs } from "../../src/consumer/run-jobs.ts";
import { parseMessage } from "../../src/core/message.ts";
import { enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { consume } from "../support/consume.ts";
import { createWorld, MINUTE, SECOND } from "../support/world.ts";

const topic = "logs";

test.each(["full", "none"] as const)(
  "a consumer whose deletes hang answers Lambda in time (tracking %s)",
  async (tracking) => {
    const world = createWorld({ topics: { logs: { tracking, concurrency: 1 } } });
    await world.file({ topic });
    const messages = await world.queues.receive({ topic }, { max: 10, waitSeconds: 0, hideSeconds: 60 });
    world.queues.remove = () => new Promise(() => {});
    const kept = runJobs(
      world.ctx,
      messages.map((message) => ({ ...message, messageId: message.handle })),
      async () => ({ end: "done" }),
      world.now(),
      {
        wait: (ms) => world.pass(ms),
        // Lambda kills the function at its deadline, which is now, so a later timer never fires.
        after(ms, call) {
          const timer = ms > 0 ? undefined : setImmediate(call);
          return () => clearImmediate(timer);
        },
      },
    );
    expect(await kept).toEqual(new Set());
  },
);

test("while the DLQ takes no message, a dead untracked job and the other jobs of its message stay in one message each", async () => {
  const world = createWorld({ topics: { logs: { tracking: "none", backoff: { waits: [10] } } } });
  const jobs = Array.from({ length: 3 }, () => ({ topic, body: "{}", dueAt: world.now() }));
  const ids = (await enqueueMany(world.ctx, jobs)).map((filed) => ("home" in filed ? filed.home.id : ""));
  const { send } = world.queues;
  world.queues.send = async (queue, messages) =>
    "dead" in queue && queue.dead
      ? messages.map(() => ({ outcome: "failing", reason: "its key is disabled" }))
      : send.call(world.queues, queue, messages);
  for (let i = 0; i < 5; i++) {
    await consume(world, topic, {
      timeout: 10 * SECOND,
      run: ({ id }) =>
        id === ids[0] ? { end: "buried", error: "bad" } : { end: "failed", error: "no bank" },
    });
    await world.pass(MINUTE, { ticks: false });
  }
  const carried = world.queues.messages({ topic }).flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
  expect(carried.map(({ id }) => id).sort()).toEqual([...ids].sort());
});

test("an untracked job that fails beside a tracked job has only one message, which names its next attempt", async () => {
  const world = createWorld({ topics: { logs: { backoff: { waits: [10] } } } });
  const { id } = await world.file({ topic });
  const [filed] = await world.queues.receive({ topic }, { max: 1, waitSeconds: 0, hideSeconds: 60 });
  const message = JSON.parse(filed?.body ?? "");
  const untracked = { ...message.jobs[0], id: `${id.slice(0, -1)}0`, untracked: true };
  await world.queues.remove({ topic }, [filed?.handle ?? ""]);
  const body = JSON.stringify({ ...message, jobs: [...message.jobs, untracked] });
  await world.queues.send({ topic }, [{ body, delaySeconds: 0 }]);
  const received = await world.queues.receive({ topic }, { max: 1, waitSeconds: 0, hideSeconds: 60 });
  await runJobs(
    world.ctx,
    received.map((one) => ({ ...one, messageId: one.handle })),
    async (job) => (job.untracked ? { end: "failed", error: "no bank" } : { end: "done" }),
    world.now() + 30 * SECOND,
    { wait: (ms) => world.pass(ms, { ticks: false }), after: () => () => {} },
  );
  const carried = world.queues
    .messages({ topic })
    .flatMap(({ body: text }) => parseMessage(text)?.jobs ?? []);
  expect(carried.map((job) => `${job.id} ${job.attempt}`)).toEqual([`${untracked.id} 2`]);
});
