import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import type { Call, Reply } from "../../src/consumer/webhook/call.ts";
import { createTestQueue } from "../../src/testing/test-queue.ts";
import type { TestTopic } from "../../src/testing/topics.ts";
import { traceparentOf, withOpenTelemetry } from "../support/tracing.ts";

const { within, spans } = withOpenTelemetry();

const nothing = () => {};
const OK = { code: SpanStatusCode.OK };

function queueOf(handler: TestTopic<unknown>["handler"] = nothing, more: TestTopic<unknown> = {}) {
  return createTestQueue<{ orders: unknown }>({ topics: { orders: { handler, ...more } } });
}

/** The spans of runs, without those of callers. */
const runs = () => spans().filter(({ name }) => name === "process orders");

describe("the trace of a caller", () => {
  test.each(["full", "none"] as const)(
    "goes on in the run an hour later, and in what the handler does, with tracking %s",
    async (tracking) => {
      const queue = queueOf(async () => within("charge", async () => {}), { tracking });
      const caller = await within("checkout", async (span) => {
        await queue.client.enqueue("orders", 1, { delay: "1h" });
        return span.spanContext();
      });
      expect(spans().map(({ name }) => name)).toEqual(["checkout"]);
      await queue.advance("1h");
      const [, charge, run] = spans();
      const [{ id } = { id: "" }] = queue.runs();
      expect(run).toEqual({
        name: "process orders",
        kind: SpanKind.CONSUMER,
        traceId: caller.traceId,
        spanId: expect.any(String),
        parent: caller.spanId,
        status: OK,
        attributes: {
          "messaging.system": "minutehand",
          "messaging.operation.name": "process",
          "messaging.operation.type": "process",
          "messaging.destination.name": "orders",
          "messaging.message.id": id,
          "minutehand.attempt": 1,
        },
        exceptions: [],
      });
      expect(charge).toMatchObject({ name: "charge", traceId: caller.traceId, parent: run?.spanId });
    },
  );

  test.each(["full", "none"] as const)(
    "has a span for each attempt, all with the caller as parent, with tracking %s",
    async (tracking) => {
      const fails = ({ attempt }: { attempt: number }) => {
        if (attempt < 3) throw new Error(`no bank ${attempt}`);
      };
      const queue = queueOf(fails, { tracking });
      const { spanId } = await within("checkout", async (span) => {
        await queue.client.enqueue("orders", 1, { delay: 1 });
        return span.spanContext();
      });
      await queue.advance("1h");
      const failed = { code: SpanStatusCode.ERROR, message: expect.stringContaining("no bank") };
      expect(runs()).toMatchObject([
        {
          parent: spanId,
          status: failed,
          exceptions: ["no bank 1"],
          attributes: { "minutehand.attempt": 1 },
        },
        {
          parent: spanId,
          status: failed,
          exceptions: ["no bank 2"],
          attributes: { "minutehand.attempt": 2 },
        },
        { parent: spanId, status: OK, exceptions: [], attributes: { "minutehand.attempt": 3 } },
      ]);
      expect(new Set(runs().map((run) => run.spanId)).size).toBe(3);
    },
  );

  test("marks a buried run as an error, and one that asks for another run as none", async () => {
    const queue = queueOf((job) =>
      queue.runs().length === 0 ? job.retryIn("1m") : job.bury("no such order"),
    );
    await within("checkout", () => queue.client.enqueue("orders", 1, { delay: 1 }));
    await queue.advance("1h");
    const buried = { code: SpanStatusCode.ERROR, message: "no such order" };
    expect(runs()).toMatchObject([
      { status: OK, exceptions: [] },
      { status: buried, exceptions: [] },
    ]);
  });

  test("reaches each job of a batch", async () => {
    const queue = queueOf();
    const { spanId } = await within("import", async (span) => {
      const jobs = [1, 2, 3].map((n) => ({ topic: "orders" as const, body: n, delay: "1h" as const }));
      await queue.client.enqueueMany(jobs);
      return span.spanContext();
    });
    await queue.advance("1h");
    expect(runs().map(({ parent }) => parent)).toEqual([spanId, spanId, spanId]);
  });

  test("is that of the newest caller if a key's job is replaced or postponed, and of the first if it is kept", async () => {
    const queue = queueOf();
    const parents: Record<string, string> = {};
    for (const how of ["replace", "postpone", "keep"] as const) {
      for (const call of ["first", "newest"]) {
        parents[`${how} ${call}`] = await within(call, async (span) => {
          const options = {
            key: how,
            delay: "1h",
            onDuplicate: how,
            ...(how === "postpone" && { maxDelay: "2h" }),
          };
          await queue.client.enqueue("orders", how, options as { key: string; delay: "1h" });
          return span.spanContext().spanId;
        });
      }
    }
    parents["put newest"] = await within("put", async (span) => {
      await queue.client.put("orders", "put", { body: 1, delay: "1h" });
      await queue.client.put("orders", "put", { body: 2, delay: "1h" });
      return span.spanContext().spanId;
    });
    await queue.advance("1h");
    expect(new Set(runs().map(({ parent }) => parent))).toEqual(
      new Set(["replace newest", "postpone newest", "keep first", "put newest"].map((name) => parents[name])),
    );
  });

  test("ends with a replace by a caller without a span", async () => {
    const queue = queueOf();
    await within("checkout", () => queue.client.put("orders", "k", { body: 1, delay: "1h" }));
    await queue.client.put("orders", "k", { body: 2, delay: "1h" });
    await queue.advance("1h");
    expect(queue.runs()).toHaveLength(1);
    expect(runs()).toEqual([]);
  });

  test("goes on after a redrive and after a reschedule, whoever calls these", async () => {
    const queue = queueOf(({ bury }) => (queue.runs().length === 0 ? bury("closed") : undefined));
    const [{ id }, spanId] = await within("checkout", async (span) => {
      return [await queue.client.enqueue("orders", 1, { delay: "1h" }), span.spanContext().spanId] as const;
    });
    await within("support", () => queue.client.reschedule(id, { delay: "2h" }));
    await queue.advance("2h");
    await within("repair", () => queue.client.redrive("orders", { ids: [id] }));
    await queue.advance("1m");
    expect(runs()).toMatchObject([{ parent: spanId }, { parent: spanId, status: OK }]);
  });

  test("goes on in the jobs that a handler files", async () => {
    const queue = queueOf(async ({ body }) => {
      if (body === 1) await queue.client.enqueue("orders", 2, { delay: "1h" });
    });
    const { traceId } = await within("checkout", async (span) => {
      await queue.client.enqueue("orders", 1, { delay: "1h" });
      return span.spanContext();
    });
    await queue.advance("2h");
    const [first, second] = runs();
    expect(second).toMatchObject({ traceId, parent: first?.spanId });
  });
});

describe("the job of a caller without a span", () => {
  test("has no span, as those of schedules and events", async () => {
    const queue = createTestQueue<{ orders: { id: string } }>({
      topics: {
        orders: {
          handler: nothing,
          enqueueOn: { source: "shop", detailType: "placed", key: "$.detail.id", delay: "1h" },
        },
      },
    });
    await queue.client.enqueue("orders", { id: "1" }, { delay: "1h" });
    const schedule = { expression: "rate(1 hour)", topic: "orders", body: { id: "3" } } as const;
    await within("operator", async () => {
      await queue.client.putSchedule("hourly", schedule);
      await queue.publish({ source: "shop", detailType: "placed", detail: { id: "2" } });
      await queue.client.runSchedule("hourly");
    });
    await queue.advance("1h");
    expect(queue.runs().length).toBeGreaterThanOrEqual(4);
    expect(runs()).toEqual([]);
  });
});

describe("a webhook's call", () => {
  const calls: Call[] = [];
  const receiver = (call: Call): Reply => ({ status: calls.push(call) === 1 ? 500 : 200, body: "" });
  const queueOfHook = () => {
    calls.length = 0;
    const webhook = { url: "https://shop.example/hooks" };
    return createTestQueue<{ orders: unknown }>({ topics: { orders: { webhook, receiver } } });
  };

  test("names the caller's span in each attempt, and none for a caller without one", async () => {
    const queue = queueOfHook();
    const traceparent = await within("checkout", async (span) => {
      await queue.client.enqueue("orders", 1, { delay: "1h" });
      return traceparentOf(span);
    });
    await queue.client.enqueue("orders", 2, { delay: "3h" });
    await queue.advance("3h");
    expect(calls.map(({ headers }) => headers.traceparent)).toEqual([traceparent, traceparent, undefined]);
  });

  test("has the job's own header of this name, if it has one", async () => {
    const queue = queueOfHook();
    const headers = { Traceparent: "mine" };
    await within("checkout", () => queue.client.enqueue("orders", 1, { delay: 1, headers }));
    await queue.advance("1s");
    expect(calls[0]?.headers.traceparent).toBe("mine");
  });
});

test("a worker that pulls gets the caller's span with its job", async () => {
  const queue = createTestQueue<{ orders: unknown }>({ topics: { orders: { consumer: "pull" } } });
  const traceparent = await within("checkout", async (span) => {
    await queue.client.enqueue("orders", 1, { delay: "1h" });
    return traceparentOf(span);
  });
  await queue.client.enqueue("orders", 2, { delay: "61m" });
  await queue.advance("61m");
  const jobs = await queue.client.receive("orders", { max: 10 });
  expect(jobs.map((job) => job.traceparent)).toEqual([traceparent, undefined]);
});

test("a span of a process that samples nothing is named all the same, with its flags", async () => {
  const queue = createTestQueue<{ orders: unknown }>({ topics: { orders: { consumer: "pull" } } });
  const spanContext = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 0 };
  await context.with(trace.setSpanContext(context.active(), spanContext), () =>
    queue.client.enqueue("orders", 1, { delay: 0 }),
  );
  await queue.advance(0);
  const [job] = await queue.client.receive("orders");
  expect(job?.traceparent).toBe(`00-${"a".repeat(32)}-${"b".repeat(16)}-00`);
});
