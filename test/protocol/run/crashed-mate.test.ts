import { expect, it } from "vitest";
import { runJobs } from "../../../src/consumer/run-jobs.ts";
import { CLOCK_MARGIN } from "../../../src/core/constants.ts";
import { homeKey } from "../../../src/core/item-keys.ts";
import type { Timers } from "../../../src/protocol/ports.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { crashWhileRunning } from "../../support/consume.ts";
import { isAt, pullOne } from "../../support/scenes.ts";
import { createWorld, SECOND, type World } from "../../support/world.ts";

/** DynamoDB neither writes this job's home nor answers. */
function hang(world: World, id: string): void {
  const { pk } = homeKey(id);
  const isHome = isAt(pk, "change");
  world.pool.hooks.before = (call) =>
    isHome(call) && call.keys.some(({ sk }) => sk === homeKey(id).sk) ? new Promise(() => {}) : undefined;
}

it("jobs of a Lambda topic do not wait for a crashed job that cannot be settled, whose message stays", async () => {
  const world = createWorld({ topics: { orders: { concurrency: 2 } } });
  const bad = await world.file({});
  await crashWhileRunning(world, "orders");
  await world.pass(30 * SECOND + CLOCK_MARGIN + 30 * SECOND, { ticks: false });
  for (let i = 0; i < 4; i++) await world.file({});
  hang(world, bad.id);
  const messages = await world.queues.receive(
    { topic: "orders" },
    { max: 10, waitSeconds: 0, hideSeconds: 90 },
  );
  const [first] = messages;
  expect(first?.body).toContain(bad.id);
  const runs: string[] = [];
  const timers: Timers = {
    wait: world.timers.wait,
    // The time for settling ends after all jobs that could run have run.
    after(ms, act) {
      if (ms < 59 * SECOND) return () => {};
      void expect
        .poll(() => runs.length)
        .toBe(4)
        .then(act);
      return () => {};
    },
  };
  const kept = await runJobs(
    world.ctx,
    messages.map(({ body, handle }) => ({ messageId: handle, handle, body })),
    async ({ id }) => {
      runs.push(id);
      return { end: "done" };
    },
    world.now() + 60 * SECOND,
    timers,
  );
  expect(runs).not.toContain(bad.id);
  expect([...kept]).toEqual([first?.handle]);
});

it("pulled jobs are handed out though a crashed job among them cannot be settled", async () => {
  const world = createWorld();
  const bad = await world.file({ topic: "work" });
  await pullOne(world);
  await world.pass(30 * SECOND + CLOCK_MARGIN + 30 * SECOND, { ticks: false });
  const good = await world.file({ topic: "work" });
  hang(world, bad.id);
  const soon: Timers = {
    ...world.timers,
    after(_, act) {
      setImmediate(act);
      return () => {};
    },
  };
  const asked = { max: 10, waitSeconds: 0 };
  expect(await receive(world.ctx, "work", asked, soon)).toMatchObject([{ id: good.id }]);
  // Its message becomes visible again soon.
  const [left] = world.queues.messages({ topic: "work" }).filter(({ body }) => body.includes(bad.id));
  expect(left?.visibleAt).toBeLessThan(world.now() + 30 * SECOND);
});
