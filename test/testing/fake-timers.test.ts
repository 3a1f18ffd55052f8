import { afterEach, describe, expect, test, vi } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";

type Kit = { readonly createTestQueue: typeof createTestQueue };

/** All names that Vitest can replace. It refuses `nextTick` in a child process, so `withoutNextTick` replaces that. */
const EVERYTHING = {
  toFake: [
    ...([
      "setTimeout",
      "clearTimeout",
      "setInterval",
      "clearInterval",
      "setImmediate",
      "clearImmediate",
    ] as const),
    ...(["Date", "performance", "hrtime", "queueMicrotask", "Intl", "Temporal"] as const),
    ...(["requestAnimationFrame", "cancelAnimationFrame"] as const),
    ...(["requestIdleCallback", "cancelIdleCallback"] as const),
  ],
  // Also in `node:timers` and `node:timers/promises`.
  fakeNodeBuiltins: true,
  now: 0,
};

/** A job of an untracked topic is handed over, and nothing is known of it afterwards. */
const ENDED = new Set(["done", "handed-off"]);

afterEach(() => void vi.useRealTimers());

/** Vitest itself needs `nextTick` to talk to this process, so its calls are made afterwards. */
async function withoutNextTick<T>(work: () => Promise<T>): Promise<T> {
  const { nextTick } = process;
  const asked: Parameters<typeof nextTick>[] = [];
  process.nextTick = (...call: Parameters<typeof nextTick>) => void asked.push(call);
  try {
    return await work();
  } finally {
    process.nextTick = nextTick;
    for (const call of asked) nextTick(...call);
  }
}

/** A queue with each kind of consumer. One topic runs so many jobs that the kit lets the event loop turn between them. */
function queueOf(kit: Kit) {
  return kit.createTestQueue({
    topics: {
      orders: {
        handler: async ({ attempt }) => void (attempt === 1 && (await Promise.reject(new Error("no bank")))),
      },
      many: { handler: () => {} },
      untracked: { handler: () => {}, tracking: "none" },
      notices: {
        webhook: { url: "https://shop.example/hooks" },
        receiver: () => ({ status: 204, body: "" }),
      },
      work: { consumer: "pull" },
    },
    handlerTimeout: 60_000,
  });
}

async function play(queue: ReturnType<typeof queueOf>) {
  const { client } = queue;
  const topics = ["orders", "untracked", "notices", "work"] as const;
  await client.enqueueMany(topics.map((topic) => ({ topic, body: 1, delay: "30m" })));
  await client.enqueueMany(Array.from({ length: 250 }, (_, body) => ({ topic: "many", body, delay: "2h" })));
  await client.putSchedule("daily", { expression: "cron(30 9 * * ? *)", topic: "orders", body: "daily" });
  await queue.advance("1d");
  const [pulled] = await client.receive("work", { waitSeconds: 20 });
  await client.finish("work", pulled?.receipt ?? "");
  return queue.jobs().map(({ state }) => state);
}

describe("with all timers and clocks faked", () => {
  test("before the kit is imported, a queue runs its jobs", async () => {
    vi.useFakeTimers(EVERYTHING);
    vi.resetModules();
    const kit = await import("../../src/testing/test-queue.ts");
    expect(kit.createTestQueue).not.toBe(createTestQueue);
    // Vitest loads what is imported on first use, and needs `nextTick` for that.
    expect(new Set(await play(queueOf(kit)))).toEqual(ENDED);
    const states = await withoutNextTick(() => play(queueOf(kit)));
    expect(new Set(states)).toEqual(ENDED);
    expect(states).toHaveLength(255);
  });

  test("before the queue is created, and after it, a queue runs its jobs", async () => {
    await play(queueOf({ createTestQueue }));
    const before = queueOf({ createTestQueue });
    vi.useFakeTimers(EVERYTHING);
    expect(new Set(await withoutNextTick(() => play(before)))).toEqual(ENDED);
    const after = queueOf({ createTestQueue });
    expect(new Set(await withoutNextTick(() => play(after)))).toEqual(ENDED);
    expect(after.now()).toEqual(new Date("2026-01-02T00:00:00Z"));
    expect(Date.now()).toBe(0);
  });

  test("a handler that waits for a faked timer is named in the error", async () => {
    vi.useFakeTimers(EVERYTHING);
    const handler = () => new Promise<void>((resolve) => void setTimeout(resolve, 1000));
    const queue = createTestQueue({ topics: { orders: { handler } }, handlerTimeout: 20 });
    await queue.client.enqueue("orders", 1, { delay: 0 });
    await expect(withoutNextTick(() => queue.advance(0))).rejects.toThrow("has not ended in 20 ms");
  });
});
