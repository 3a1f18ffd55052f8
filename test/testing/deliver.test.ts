import { expect, test } from "vitest";
import { deliverer, throwTrouble } from "../../src/testing/deliver.ts";
import { createWorld } from "../support/world.ts";

test("if the end of a run cannot be recorded, the reason is thrown, and the write is not retried for ever", async () => {
  const { ctx, pool, queues, file } = createWorld();
  const handler = () => {
    pool.hooks.before = () => {
      throw new Error("no table");
    };
  };
  const { deliver } = deliverer({ ...ctx, report: throwTrouble }, queues, { precise: { handler } });
  await file({ topic: "precise", body: "1" });
  const [message] = queues.messages({ topic: "precise" });
  if (!message) throw new Error("nothing was sent");
  await expect(deliver("precise", message)).rejects.toThrow("settling a job failed: no table");
});
