import { afterEach, describe, expect, test, vi } from "vitest";
import { consumer, type Job } from "../../src/consumer/consumer.ts";
import { createTestQueue, type Run } from "../../src/testing/test-queue.ts";
import type { TestTopic } from "../../src/testing/topics.ts";

type Timeout = { orderId: number };

/** When runs began, and which attempt each was. */
const times = (runs: readonly Run[]) => runs.map(({ at, attempt }) => `${at.toISOString()} ${attempt}`);
const bodies = (runs: readonly Run[]) => runs.map(({ body }) => body);
const nothing = () => {};
const fail = () => {
  throw new Error("no bank");
};

/** A queue of the topic `orders`. */
function queueOf<Body>(handler: TestTopic<Body>["handler"] = nothing, more: TestTopic<Body> = {}) {
  return createTestQueue<{ orders: Body }>({ topics: { orders: { handler, ...more } } });
}

afterEach(() => {
  vi.restoreAllMocks();
});

test("calls that change jobs print nothing into the output of a test", async () => {
  const printed = vi.spyOn(console, "info");
  const queue = queueOf(fail);
  await queue.client.enqueue("orders", 1, { delay: 0 });
  await queue.advance("3d");
  await queue.client.redrive("orders");
  await queue.client.pause("orders");
  expect(printed).not.toHaveBeenCalled();
});

describe("a job", () => {
  test("runs when it is due, and not a millisecond before", async () => {
    const queue = queueOf();
    await queue.client.enqueue("orders", { n: 1 }, { delay: "30m" });
    await queue.advance("29m59s999ms");
    expect(queue.runs()).toEqual([]);
    await queue.advance("1ms");
    expect(times(queue.runs())).toEqual(["2026-01-01T00:30:00.000Z 1"]);
    expect(queue.jobs()).toMatchObject([{ state: "done", body: { n: 1 } }]);
  });

  test("that is due at once runs when no time passes", async () => {
    const queue = queueOf();
    await queue.client.enqueue("orders", 1, { delay: 0 });
    await queue.advance(0);
    expect(times(queue.runs())).toEqual(["2026-01-01T00:00:00.000Z 1"]);
    expect(queue.now()).toEqual(new Date("2026-01-01T00:00:00Z"));
  });

  test("that is cancelled before it is due never runs", async () => {
    const queue = queueOf();
    const { id } = await queue.client.enqueue("orders", 1, { delay: "30m" });
    await queue.advance("29m59s");
    await queue.client.cancel(id);
    await queue.advance("7d");
    expect(queue.runs()).toEqual([]);
    expect(await queue.client.get(id)).toMatchObject({ state: "cancelled" });
  });

  test("that fails runs again by the default backoff, to the second, and is dead after its last attempt", async () => {
    const queue = queueOf(fail);
    const { id } = await queue.client.enqueue("orders", 1, { dueAt: queue.now() });
    await queue.advance("3d");
    expect(times(queue.runs())).toEqual([
      "2026-01-01T00:00:00.000Z 1",
      "2026-01-01T00:00:15.000Z 2",
      "2026-01-01T00:03:15.000Z 3",
      "2026-01-01T00:13:15.000Z 4",
      "2026-01-01T00:43:15.000Z 5",
      "2026-01-01T01:13:15.000Z 6",
      "2026-01-01T02:13:15.000Z 7",
      "2026-01-01T04:13:15.000Z 8",
      "2026-01-01T10:13:15.000Z 9",
      "2026-01-02T01:13:15.000Z 10",
    ]);
    expect(await queue.client.get(id)).toMatchObject({
      state: "dead",
      lastError: expect.stringMatching(/^no bank \(.*test-queue\.test\.ts:\d+\)$/),
    });
    expect(queue.runs()[0]).toMatchObject({ topic: "orders", id, body: 1, error: new Error("no bank") });
  });

  test("that fails shows what its handler has thrown, also if that is no error", async () => {
    class Declined extends Error {}
    const declined = new Declined("no money", { cause: new Error("the card has expired") });
    const thrown: unknown[] = [declined, undefined, { code: 7 }];
    const queue = queueOf(({ attempt }: Job) => Promise.reject(thrown[attempt - 1]), { maxAttempts: 3 });
    await queue.client.enqueue("orders", 1, { delay: 0 });
    await queue.advance("1h");
    const [first, second, third] = queue.runs();
    expect(first?.error).toBe(declined);
    expect(first?.error instanceof Declined).toBe(true);
    expect(second).toHaveProperty("error", undefined);
    expect(third?.error).toBe(thrown[2]);
  });

  const BACKOFFS: [NonNullable<TestTopic<unknown>["backoff"]>][] = [
    [["1m", 120]],
    [{ exponential: { initial: "1m", factor: 2, max: "1h", jitter: 0 } }],
    [{ exponential: { initial: 60, jitter: 0 } }],
  ];
  test.each(BACKOFFS)("waits by a backoff with durations: %j", async (backoff) => {
    const queue = queueOf(fail, { maxAttempts: 3, backoff });
    await queue.client.enqueue("orders", 1, { delay: 0 });
    await queue.advance("5m");
    expect(times(queue.runs())).toEqual([
      "2026-01-01T00:00:00.000Z 1",
      "2026-01-01T00:01:00.000Z 2",
      "2026-01-01T00:03:00.000Z 3",
    ]);
  });

  test("that is dead runs again when it is redriven", async () => {
    let fails = true;
    const handler = () => {
      if (fails) throw new Error("no bank");
    };
    const queue = queueOf(handler, { maxAttempts: 2, backoff: [60] });
    const { id } = await queue.client.enqueue("orders", 1, { delay: 0 });
    await queue.advance("5m");
    const dead: string[] = [];
    for await (const job of queue.client.dead("orders")) dead.push(job.id);
    expect(dead).toEqual([id]);
    fails = false;
    expect(await queue.client.redrive("orders")).toEqual({ redriven: 1, left: 0 });
    await queue.advance("5m");
    expect(times(queue.runs())).toEqual([
      "2026-01-01T00:00:00.000Z 1",
      "2026-01-01T00:01:00.000Z 2",
      "2026-01-01T00:05:00.000Z 1",
    ]);
    expect((await queue.client.topic("orders")).depths).toMatchObject({ ready: 0, dead: 0 });
  });

  test("that is dead never runs again when it is dismissed", async () => {
    const queue = queueOf(fail, { maxAttempts: 1 });
    const { id } = await queue.client.enqueue("orders", 1, { delay: 0 });
    await queue.advance("1m");
    expect(await queue.client.dismiss("orders", { ids: [id] })).toEqual({
      dismissed: 1,
      left: 0,
      errors: [],
    });
    expect(await queue.client.redrive("orders")).toEqual({ redriven: 0, left: 0 });
    await queue.advance("5m");
    expect(queue.runs()).toHaveLength(1);
    expect((await queue.client.topic("orders")).depths).toMatchObject({ ready: 0, dead: 0 });
  });

  test("that asks for another run gets the run at that time, and the run counts as no attempt", async () => {
    const poll = (job: Job<Timeout>) => {
      if (queue.runs().length < 2) job.retryIn("10m");
    };
    const queue = queueOf(poll, { maxAttempts: 1 });
    await queue.client.enqueue("orders", { orderId: 1 }, { delay: "1h" });
    await queue.advance("1d");
    expect(times(queue.runs())).toEqual([
      "2026-01-01T01:00:00.000Z 1",
      "2026-01-01T01:10:00.000Z 1",
      "2026-01-01T01:20:00.000Z 1",
    ]);
  });

  test("that replaces another under its key runs once, with the new body at the new time", async () => {
    const queue = queueOf();
    await queue.client.enqueue("orders", "old", { delay: "30m", key: "17" });
    await queue.advance("20m");
    await queue.client.enqueue("orders", "new", { delay: "30m", key: "17", onDuplicate: "replace" });
    await queue.advance("7d");
    expect(bodies(queue.runs())).toEqual(["new"]);
    expect(times(queue.runs())).toEqual(["2026-01-01T00:50:00.000Z 1"]);
  });

  test("far ahead runs on time when a week passes in one step", async () => {
    const queue = createTestQueue({
      topics: { orders: { handler: () => {} } },
      now: "2026-03-01T09:00:12.345Z",
    });
    await queue.client.enqueue("orders", "late", { delay: "6d23h" });
    await queue.client.enqueue("orders", "early", { delay: "3d" });
    await queue.advance("7d");
    expect(bodies(queue.runs())).toEqual(["early", "late"]);
    expect(times(queue.runs())).toEqual(["2026-03-04T09:00:12.345Z 1", "2026-03-08T08:00:12.345Z 1"]);
    expect(queue.now().toISOString()).toBe("2026-03-08T09:00:12.345Z");
  });

  test("of an untracked topic runs, and again when it fails", async () => {
    const handler = (job: Job) => (job.attempt === 1 ? fail() : undefined);
    const queue = queueOf(handler, { tracking: "none", backoff: [60] });
    await queue.client.enqueue("orders", 1, { delay: "2h" });
    await queue.advance("3h");
    expect(times(queue.runs())).toEqual(["2026-01-01T02:00:00.000Z 1", "2026-01-01T02:01:00.000Z 2"]);
  });
});

describe("a handler", () => {
  test("can cancel a job that is due a millisecond later, and file another", async () => {
    const queue = queueOf(async ({ body }: Job<string>): Promise<void> => {
      if (body !== "first") return;
      await queue.client.cancel({ topic: "orders", key: "second" });
      await queue.client.enqueue("orders", "more", { delay: "1h" });
    });
    await queue.client.enqueue("orders", "first", { delay: "30m" });
    await queue.client.enqueue("orders", "second", { delay: "30m1ms", key: "second" });
    await queue.client.enqueue("orders", "third", { delay: "30m2ms" });
    await queue.advance("2h");
    expect(bodies(queue.runs())).toEqual(["first", "third", "more"]);
    expect(times(queue.runs())).toEqual([
      "2026-01-01T00:30:00.000Z 1",
      "2026-01-01T00:30:00.002Z 1",
      "2026-01-01T01:30:00.000Z 1",
    ]);
  });

  test("may be the export of the deployed function, and then needs no environment variables", async () => {
    const ran: unknown[] = [];
    const handler = consumer<Timeout>((job) => void ran.push(job.body));
    await expect(handler({ Records: [] }, {} as never)).rejects.toThrow("MINUTEHAND_POLICY must be set");
    const queue = queueOf(handler);
    await queue.client.enqueue("orders", { orderId: 1 }, { delay: 60 });
    await queue.advance("2m");
    expect(ran).toEqual([{ orderId: 1 }]);
  });

  test("that does not end is named in the error, with its job", async () => {
    const handler = () => new Promise(() => {});
    const queue = createTestQueue({ topics: { orders: { handler } }, handlerTimeout: 20 });
    const { id } = await queue.client.enqueue("orders", 1, { delay: 0 });
    await expect(queue.advance(0)).rejects.toThrow(
      `the handler of topic orders of job ${id} has not ended in 20 ms`,
    );
  });

  test("that asks for another run at once, for ever, ends with an error", async () => {
    const queue = createTestQueue({ topics: { orders: { handler: (job: Job) => job.retryIn(0) } } });
    await queue.client.enqueue("orders", 1, { delay: 60 });
    await expect(queue.advance("1h")).rejects.toThrow(
      "1000 more runs took place than were due at 2026-01-01T00:01:00.000Z, and the last was of topic orders",
    );
  });

  test("may change the body that it gets, and its run still has the original body", async () => {
    const handler = ({ body }: Job<{ left: string[] }>) => {
      while (body.left.length > 0) body.left.pop();
    };
    const queue = createTestQueue({ topics: { orders: { handler } } });
    await queue.client.enqueue("orders", { left: ["a", "b"] }, { delay: 0 });
    await queue.advance(0);
    expect(bodies(queue.runs())).toEqual([{ left: ["a", "b"] }]);
  });

  test("cannot let time pass", async () => {
    const handler = (): Promise<void> => queue.advance("1h");
    const queue = queueOf(handler, { maxAttempts: 1 });
    await queue.client.enqueue("orders", 1, { delay: 0 });
    await queue.advance("1m");
    expect(queue.runs()).toMatchObject([
      { error: { message: expect.stringContaining("a handler must not call it") } },
    ]);
  });
});

describe("a queue", () => {
  /** The runs of one hour in a queue with this seed. */
  async function hour(seed: number) {
    const queue = createTestQueue({
      seed,
      topics: {
        orders: { handler: fail, backoff: { exponential: { initial: 60, factor: 2, max: 600, jitter: 1 } } },
      },
    });
    await queue.client.enqueueMany(
      [1, 2, 3].map((body) => ({ topic: "orders", body, delay: 60, spread: 60 })),
    );
    await queue.advance("1h");
    return queue.runs();
  }

  test("has the same runs and ids with the same seed, and others with another seed", async () => {
    const [first, again, other] = [await hour(7), await hour(7), await hour(8)];
    expect(first.length).toBeGreaterThan(6);
    expect(again).toEqual(first);
    expect(other.map(({ id }) => id)).not.toEqual(first.map(({ id }) => id));
  });

  test("does not disturb another", async () => {
    const [one, other] = [1, 2].map(() => queueOf());
    await one?.client.enqueue("orders", 1, { delay: 60, key: "17" });
    await other?.client.pause("orders");
    await other?.client.enqueue("orders", 2, { delay: 60, key: "17" });
    await Promise.all([one?.advance("1h"), other?.advance("2h")]);
    expect(bodies(one?.runs() ?? [])).toEqual([1]);
    expect(other?.runs()).toEqual([]);
    expect(other?.jobs()).toMatchObject([{ state: "scheduled", body: 2 }]);
  });

  test("does not start jobs of a paused topic that are already in SQS", async () => {
    const queue = queueOf();
    await queue.client.enqueue("orders", 1, { delay: 60 });
    await queue.client.pause("orders");
    await queue.advance("1h");
    expect(queue.runs()).toEqual([]);
    await queue.client.resume("orders");
    await queue.advance("1m");
    expect(bodies(queue.runs())).toEqual([1]);
  });

  test("starts no job of a paused topic, and starts all due jobs when the topic is resumed", async () => {
    const queue = queueOf();
    await queue.client.enqueue("orders", 1, { delay: "10m" });
    await queue.client.pause("orders");
    await queue.advance("1h");
    expect(queue.runs()).toEqual([]);
    await queue.client.resume("orders");
    await queue.advance("1m");
    expect(times(queue.runs())).toEqual(["2026-01-01T01:00:00.000Z 1"]);
    await queue.advance("1h");
    expect(await queue.client.topic("orders")).not.toHaveProperty("pause");
  });

  test("keeps to a topic's limit", async () => {
    const queue = queueOf(nothing, { maxPerSecond: 1 });
    await queue.client.enqueueMany([1, 2, 3].map((body) => ({ topic: "orders", body, delay: "10m" })));
    await queue.advance("1h");
    const seconds = queue.runs().map(({ at }) => at.toISOString().slice(14, 19));
    expect(seconds).toEqual(["10:00", "10:01", "10:02"]);
  });

  test("fires recurring schedules, but not paused ones", async () => {
    const queue = queueOf();
    await queue.client.putSchedule("daily", {
      expression: "cron(30 9 * * ? *)",
      topic: "orders",
      body: "daily",
    });
    await queue.advance("2d");
    await queue.client.pauseSchedule("daily");
    await queue.advance("2d");
    expect(times(queue.runs())).toEqual(["2026-01-01T09:30:00.000Z 1", "2026-01-02T09:30:00.000Z 1"]);
  });

  test.each(["full", "none"] as const)(
    "tells a run its schedule and its occurrence's time, also late and again, with tracking %s",
    async (tracking) => {
      const seen: unknown[] = [];
      const queue = queueOf(
        ({ schedule, scheduledFor, attempt }) => {
          seen.push([schedule, scheduledFor?.toISOString(), attempt]);
          if (attempt === 1) throw new Error("again");
        },
        { tracking },
      );
      const daily = { expression: "30 9 * * *", topic: "orders", body: "daily", spread: "5m" } as const;
      await queue.client.putSchedule("daily", daily);
      await queue.advance("10h");
      expect(seen).toEqual([1, 2].map((attempt) => ["daily", "2026-01-01T09:30:00.000Z", attempt]));
    },
  );

  test("tells a run of /run its schedule alone, and another job neither", async () => {
    const seen: unknown[] = [];
    const queue = queueOf(({ schedule, scheduledFor }) => void seen.push({ schedule, scheduledFor }));
    await queue.client.putSchedule("daily", { expression: "@daily", topic: "orders", body: "daily" });
    const { id, ...answer } = await queue.client.runSchedule("daily", { idempotencyKey: "a" });
    await queue.client.enqueue("orders", 1, { delay: 1, key: "k" });
    await queue.advance("1m");
    expect(seen).toEqual([{ schedule: "daily" }, {}]);
    expect(answer).toMatchObject({ schedule: "daily" });
    expect(queue.jobs().map((job) => [job.schedule, job.scheduledFor])).toEqual([
      ["daily", undefined],
      [undefined, undefined],
    ]);
    await queue.advance("1d");
    expect(queue.jobs().at(-1)).toMatchObject({
      schedule: "daily",
      scheduledFor: "2026-01-02T00:00:00.000Z",
    });
  });

  test("misses no occurrence that comes in a minute with a tick", async () => {
    const queue = queueOf();
    await queue.client.putSchedule("daily", {
      expression: "cron(30 9 * * ? *)",
      topic: "orders",
      body: "daily",
    });
    // The tick at half past nine sweeps the minute of this job.
    await queue.client.enqueue("orders", "other", { delay: "9h32m30s" });
    await queue.advance("10h");
    expect(bodies(queue.runs())).toEqual(["daily", "other"]);
  });

  test("applies the event rules of its topics, also to a job that is filed after its event", async () => {
    const queue = queueOf(nothing, {
      cancelOn: { detailType: "OrderPaid", key: "$.detail.orderId" },
      enqueueOn: { source: "shop", detailType: "OrderPlaced", key: "$.detail.orderId", delay: "30m" },
    });
    const place = (orderId: string, source = "shop") =>
      queue.publish({ source, detailType: "OrderPlaced", detail: { orderId } });
    const pay = (orderId: string) =>
      queue.publish({ source: "bank", detailType: "OrderPaid", detail: { orderId } });
    await place("17");
    await place("18");
    await place("19", "elsewhere");
    await queue.advance("10m");
    await pay("17");
    await pay("20");
    await queue.client.enqueue("orders", "late", { delay: "30m", key: "20" });
    await queue.advance("1d");
    expect(bodies(queue.runs())).toEqual([{ orderId: "18" }]);
    expect(times(queue.runs())).toEqual(["2026-01-01T00:30:00.000Z 1"]);
    await expect(pay("no key")).rejects.toThrow("the key of a job of topic orders");
  });

  test("applies an event to every topic though the rule of one topic fails, and with a time in whole seconds", async () => {
    const detailType = "OrderPlaced";
    const of = (key: string) => ({ handler: nothing, enqueueOn: { detailType, key, delay: 30 } });
    const queue = createTestQueue({
      now: "2026-01-01T00:00:00.700Z",
      topics: { wrong: of("$.detail.nothing"), right: of("$.detail.orderId") },
    });
    const event = { source: "shop", detailType, detail: { orderId: "17" } };
    await expect(queue.publish(event)).rejects.toThrow("the key of a job of topic wrong");
    expect(queue.jobs()).toMatchObject([{ topic: "right", dueAt: "2026-01-01T00:00:30.000Z" }]);
  });

  test("gives the jobs of a pull topic to receive, and again after a lease has ended", async () => {
    const queue = createTestQueue({ topics: { work: { consumer: "pull", ttr: "1m" } } });
    await queue.client.enqueue("work", 1, { delay: "10m" });
    await queue.advance("9m59s");
    expect(await queue.client.receive("work", { waitSeconds: 20 })).toEqual([]);
    await queue.advance("1s");
    expect(await queue.client.receive("work")).toMatchObject([{ body: 1, attempt: 1 }]);
    await queue.advance("5m");
    // The next receive finds that the run has crashed. The backoff counts from then, and is up to half longer after a crash.
    expect(await queue.client.receive("work")).toEqual([]);
    await queue.advance("23s");
    const [again] = await queue.client.receive("work");
    expect(again).toMatchObject({ body: 1, attempt: 2 });
    expect(await queue.client.finish("work", again?.receipt ?? "")).toMatchObject({ state: "done" });
  });

  test("calls the receiver of a webhook topic as over the network, and again when the receiver asks for it", async () => {
    const calls: { url: string; body: string; signature: string | undefined }[] = [];
    const queue = createTestQueue({
      topics: {
        notices: {
          webhook: { url: "https://shop.example/hooks" },
          receiver({ url, body, headers }) {
            calls.push({ url, body, signature: headers["webhook-signature"] });
            return calls.length === 1
              ? { status: 503, retryAfter: "120", body: "" }
              : { status: 204, body: "" };
          },
        },
      },
    });
    await queue.client.enqueue("notices", { paid: true }, { delay: 60 });
    await queue.advance("1h");
    expect(calls).toMatchObject([
      { url: "https://shop.example/hooks", body: '{"paid":true}', signature: expect.stringMatching(/^v1,/) },
      { body: '{"paid":true}' },
    ]);
    expect(times(queue.runs())).toEqual(["2026-01-01T00:01:00.000Z 1", "2026-01-01T00:03:00.000Z 2"]);
  });

  test("knows the bodies of its topics from their handlers", async () => {
    const handler = (_: Job<Timeout>) => {};
    const { client } = createTestQueue({ topics: { orders: { handler }, work: { consumer: "pull" } } });
    await client.enqueue("orders", { orderId: 1 }, { delay: 60 });
    // @ts-expect-error: an order's id is a number.
    await client.enqueue("orders", { orderId: "1" }, { delay: 60 });
    // @ts-expect-error: there is no such topic.
    await expect(client.enqueue("order", { orderId: 1 }, { delay: 60 })).rejects.toThrow(
      "topic must be one of orders, work, got order",
    );
  });
});
