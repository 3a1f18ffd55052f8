import { expect, it } from "vitest";
import { parseMessage } from "../../../src/core/message.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import { createWorld, MINUTE, SECOND, START } from "../../support/world.ts";

it("while an earlier audit goes on, a tick records what its sweep has sent, and the next tick sends no job again", async () => {
  const world = createWorld(
    { shards: 1, topics: { lost: {}, logs: { tracking: "none" } } },
    { ...SIZES, page: 5 },
  );
  await world.tick();
  const jobsOf = (topic: string, count: number, dueAt: number) =>
    Array.from({ length: count }, (_, i) => ({ topic, body: "{}", dueAt: dueAt + i * 1000 }));
  await enqueueMany(world.ctx, jobsOf("lost", 20, START + 5 * MINUTE));
  await enqueueMany(world.ctx, jobsOf("logs", 10, START + 16 * MINUTE + 10 * SECOND));
  await world.pass(6 * MINUTE);
  world.queues.purge({ topic: "lost" });
  await world.pass(6 * MINUTE);
  // Both audits find the lost jobs. The audit of the second tick waits until the first one has moved its place.
  const firstFiles = Promise.withResolvers<void>();
  const secondFiles = Promise.withResolvers<void>();
  const firstIsDone = Promise.withResolvers<void>();
  const tickThatWaits = (files: PromiseWithResolvers<void>, goesOn: Promise<void>): Promise<void> => {
    const insert: Pool["insert"] = async (items, by) => {
      if (items.some(({ sk }) => sk.endsWith("#look"))) {
        files.resolve();
        await goesOn;
      }
      return world.pool.insert(items, by);
    };
    return tick({ ...world.ctx, pool: { ...world.pool, insert } }, world.now() + 150 * SECOND);
  };
  await world.pass(MINUTE, { ticks: false });
  const first = tickThatWaits(firstFiles, secondFiles.promise);
  await firstFiles.promise;
  await world.pass(50 * SECOND, { ticks: false });
  const second = tickThatWaits(secondFiles, firstIsDone.promise);
  await first;
  firstIsDone.resolve();
  await second;
  await world.pass(3 * MINUTE);
  const sent = world.queues.messages({ topic: "logs" }).flatMap(({ body }) => parseMessage(body)?.jobs ?? []);
  expect(sent).toHaveLength(10);
});
