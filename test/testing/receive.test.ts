import { describe, expect, test } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";

const topics = { work: { consumer: "pull" } } as const;

describe("receive on a test queue", () => {
  test("skips messages that are void", async () => {
    const queue = createTestQueue({ topics });
    const ids: string[] = [];
    for (const body of ["a", "b", "c"]) {
      ids.push((await queue.client.enqueue("work", body, { delay: 60 })).id);
    }
    await queue.client.cancelMany(ids.slice(0, 2));
    await queue.advance("1m");
    expect(await queue.client.receive("work")).toMatchObject([{ id: ids[2] }]);
  });

  test("answers a job from the millisecond when it is due, and not before", async () => {
    const queue = createTestQueue({ topics, now: "2026-03-01T09:00:12.345Z" });
    await queue.client.enqueue("work", 1, { delay: "10m" });
    await queue.client.enqueue("work", 2, { delay: "10m1ms" });
    await queue.advance("9m59s999ms");
    expect(await queue.client.receive("work", { max: 10 })).toEqual([]);
    await queue.advance("1ms");
    expect(await queue.client.receive("work", { max: 10 })).toMatchObject([{ body: 1 }]);
  });

  test("answers no job of a paused topic, and does not wait", async () => {
    const queue = createTestQueue({ topics });
    await queue.client.enqueue("work", 1, { delay: 60 });
    await queue.client.pause("work");
    await queue.advance("1m");
    expect(await queue.client.receive("work", { waitSeconds: 20 })).toEqual([]);
  });
});
