import { describe, expect, it } from "vitest";
import { consumer } from "../../src/consumer/consumer.ts";
import { type JobHandler, runWith } from "../../src/consumer/run-handler.ts";
import { ERROR_BYTES } from "../../src/core/constants.ts";
import { describeThrown } from "../../src/core/thrown.ts";
import type { Duration } from "../../src/general/times.ts";
import { consume } from "../support/consume.ts";
import { createWorld } from "../support/world.ts";

const job = { id: "01KJMA0FM001HA2ZQ31MBWX213", revision: 0, attempt: 2, dueAt: "2026-03-01T09:00:00.000Z" };
const signal = new AbortController().signal;

/** An error of this file: its text, and then its place. */
const placed = (text: string) =>
  expect.stringMatching(new RegExp(`^${text} \\(.*run-handler.test.ts:\\d+\\)$`));

const ending = (handler: JobHandler<unknown>) =>
  runWith(handler)({ ...job, body: { n: 1 } }, "orders", signal);

describe("a handler", () => {
  it("that is no function is refused when its file is loaded", () => {
    for (const [given, got] of [
      ["close", '"close"'],
      [undefined, '"undefined"'],
    ] as const) {
      const create = () => consumer(given as never);
      expect(create).toThrow(RangeError);
      expect(create).toThrow(`consumer takes the function that runs the jobs, got ${got}`);
    }
  });

  it("sees its job", async () => {
    const seen: unknown[] = [];
    await ending(({ id, topic, body, attempt, dueAt, headers, key }) => {
      seen.push({ id, topic, body, attempt, dueAt, headers, key });
    });
    expect(seen).toEqual([
      {
        id: job.id,
        topic: "orders",
        body: { n: 1 },
        attempt: 2,
        dueAt: new Date(job.dueAt),
        headers: {},
        key: undefined,
      },
    ]);
  });

  it("runs without OpenTelemetry as if its caller had no span", async () => {
    const traced = {
      ...job,
      body: 1,
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    };
    expect(await runWith(() => {})(traced, "orders", signal)).toEqual({ end: "done" });
  });

  it("of an untracked job can ask for seven days at most, as long as SQS surely keeps it", async () => {
    const asks = (days: Duration) =>
      runWith((view) => view.retryIn(days))({ ...job, untracked: true, body: 1 }, "logs", signal);
    expect(await asks("7d")).toEqual({ end: "retry-in", wait: 7 * 86_400_000 });
    expect(await asks("8d")).toMatchObject({
      end: "failed",
      error: expect.stringContaining("at most 7 days for an untracked job, got 8d"),
    });
    expect(await ending((view) => view.retryIn("8d"))).toMatchObject({ end: "retry-in" });
  });

  it("of an untracked job may change body and headers, and the next run still gets the original ones", async () => {
    const untracked = { ...job, untracked: true as const, body: { n: 1, list: [1] }, headers: { a: "b" } };
    const before = structuredClone(untracked);
    await runWith<{ n: number; list: number[] }>((view) => {
      view.body.n = 2;
      view.body.list.shift();
      (view.headers as Record<string, string>).a = "c";
      throw new Error("no bank");
    })(untracked, "logs", signal);
    expect(untracked).toEqual(before);
  });

  it("that returns is done, that throws has failed", async () => {
    expect(await ending(() => 17)).toEqual({ end: "done" });
    const thrown = new Error("no bank");
    expect(await ending(() => Promise.reject(thrown))).toEqual({
      end: "failed",
      error: expect.stringMatching(/^no bank \(test\/consumer\/run-handler\.test\.ts:\d+\)$/),
      thrown: { value: thrown, described: describeThrown(thrown) },
    });
  });

  it("that throws has its error described once, for the job and for the log", async () => {
    const world = createWorld();
    let reads = 0;
    const thrown = Object.defineProperty(new Error("x"), "stack", { get: () => `Error: x ${++reads}` });
    await world.file({});
    await consume(world, "orders", { run: () => ending(() => Promise.reject(thrown)) });
    expect(reads).toBe(1);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "threw", error: { name: "Error", message: "x", stack: "Error: x 1" } }),
    );
  });

  it.each([
    ["a cause", new Error("fetch failed", { cause: new Error("no route") }), "fetch failed: no route"],
    ["several causes", new Error("x", { cause: new AggregateError([new Error("a")]) }), "x: a"],
    ["a cause that its message names already", new Error("x: a", { cause: new Error("a") }), "x: a"],
  ])("that throws an error with %s has a text that names the first cause once", async (_, thrown, error) => {
    expect(await ending(() => Promise.reject(thrown))).toMatchObject({ end: "failed", error: placed(error) });
  });

  it("that throws an error which is its own cause has failed all the same", async () => {
    const thrown = new Error("x");
    thrown.cause = thrown;
    expect(await ending(() => Promise.reject(thrown))).toMatchObject({ end: "failed", error: placed("x") });
  });

  it("that throws a huge error has failed with the place of the throw, within the bound of a job's error", async () => {
    const failed = await ending(() => Promise.reject(new Error("ü".repeat(1_000_000))));
    const error = "error" in failed ? failed.error : "";
    expect(error).toMatch(/^ü+\ufffd? \(test\/consumer\/run-handler\.test\.ts:\d+\)$/);
    expect(Buffer.byteLength(error)).toBeLessThanOrEqual(ERROR_BYTES);
  });

  it.each(["name", "message", "stack", "cause", "errors"])(
    "that throws an error whose %s cannot be read has failed all the same",
    async (field) => {
      const get = () => {
        throw new Error("never");
      };
      const thrown = Object.defineProperty(new Error("x"), field, { get });
      expect(await ending(() => Promise.reject(thrown))).toMatchObject({
        end: "failed",
        thrown: { value: thrown },
      });
    },
  );

  it("that asks for another run gets it, unless it throws an error afterwards", async () => {
    expect(await ending((asked) => asked.retryIn("10m"))).toEqual({ end: "retry-in", wait: 600_000 });
    const both = ending((asked) => {
      asked.retryIn(5);
      throw new Error("no");
    });
    expect(await both).toMatchObject({ end: "failed", error: placed("no") });
  });

  it.each(["soon", -1, Number.NaN, "11000d"])(
    "that asks for a retry in %s gets an error that says what is allowed",
    async (duration) => {
      expect(await ending((asked) => asked.retryIn(duration as Duration))).toMatchObject({
        end: "failed",
        error: expect.stringContaining("retryIn takes seconds"),
      });
    },
  );

  it("that asks for a retry in a number of milliseconds gets an error that says so", async () => {
    expect(await ending((asked) => asked.retryIn(40_000_000))).toMatchObject({
      end: "failed",
      error: expect.stringContaining("retryIn takes at most 31622400 as a number, which is seconds"),
    });
    expect(await ending((asked) => asked.retryIn("400d"))).toMatchObject({ end: "retry-in" });
  });

  it.each([
    ["text", "closed", "closed"],
    ["an error", new Error("closed"), "closed"],
    ["nothing", undefined, "undefined"],
    ["an object", { x: 1 }, '{"x":1}'],
    [
      "an object with no words",
      Object.create({
        toJSON: () => {
          throw new Error("never");
        },
      }),
      "an unknown error that has no text",
    ],
  ])("may bury with %s and throw it too", async (_, reason, error) => {
    expect(await ending((asked) => asked.bury(reason as string))).toEqual({ end: "buried", error });
    const failed = reason instanceof Error ? placed(error) : error;
    expect(await ending(() => Promise.reject(reason))).toMatchObject({ end: "failed", error: failed });
  });
});
