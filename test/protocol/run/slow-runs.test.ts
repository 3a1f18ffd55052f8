import { expect, test } from "vitest";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, SECOND } from "../../support/world.ts";

const topic = "calls";

test.each(["full", "none"] as const)(
  "no run begins that would outlast the function if it takes as long as the one before (tracking %s)",
  async (tracking) => {
    const world = createWorld({ topics: { calls: { tracking, concurrency: 1 } } });
    const jobs = Array.from({ length: 5 }, () => ({ topic, body: "{}", dueAt: world.now() }));
    await enqueueMany(world.ctx, jobs);
    const ended: number[] = [];
    for (let i = 0; i < 3; i++) {
      const deadline = world.now() + 60 * SECOND;
      await consume(world, topic, {
        timeout: 60 * SECOND,
        async run() {
          await world.pass(20 * SECOND, { ticks: false });
          ended.push(deadline - world.now());
          return { end: "done" };
        },
      });
    }
    expect(ended).toHaveLength(5);
    expect(Math.min(...ended)).toBeGreaterThan(0);
  },
);
