import { expect, test } from "vitest";
import { type CarriedAction, createCarried, type Plan } from "../../console/carried.ts";
import type { Call } from "../../src/client/call.ts";
import { MinutehandError } from "../../src/core/errors.ts";

const RANGE = { from: "2030-01-01T00:00:00.000Z", to: "2030-01-02T00:00:00.000Z" };
const CANCEL = { action: "cancel", reason: "the sale is over" } as const;

/** A plan that cancels the jobs of some topics, each with 3 jobs. */
function planOf(...topics: string[]): Plan {
  return { change: CANCEL, lines: topics.map((topic) => ({ which: { topic, ...RANGE }, counted: 3 })) };
}

type Sent = NonNullable<Parameters<Call>[3]> & { body: Record<string, unknown> };

/** An API whose bulks have three parts, each of one job. Each call waits until the test lets it go on. */
function scriptApi() {
  const calls: Sent[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  const call = (async (_method, _path, _shape, sent) => {
    calls.push(sent as Sent);
    const held = Promise.withResolvers<void>();
    waiting.push(held);
    await held.promise;
    const part = Number((sent as Sent).body.cursor ?? 1);
    const next = part === 3 ? {} : { cursor: String(part + 1) };
    const running = { id: "busy", problem: { code: "job-running", detail: "job busy is running" } };
    const [skipped, errors] = part === 2 ? [{ "job-running": 1 }, [running]] : [{}, []];
    return { changed: 1, skipped, errors, reached: RANGE.from, ...next };
  }) as Call;
  return {
    call,
    calls,
    /** Answers the oldest call that waits, or lets it fail. */
    async answer(error?: Error): Promise<void> {
      await expect.poll(() => waiting.length).toBeGreaterThan(0);
      const held = waiting.shift();
      if (error) held?.reject(error);
      else held?.resolve();
    },
  };
}

function carriedInTest(now = () => 0) {
  let ids = 0;
  return createCarried(now, () => `id-${++ids}`);
}

const only = (actions: CarriedAction[]): CarriedAction => {
  expect(actions).toHaveLength(1);
  return actions[0] as CarriedAction;
};

test("an action does its lines one after the other, part by part, and sums what they did", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  expect(carried.start(planOf("a", "b"), api.call)).toMatchObject({ state: "running", change: CANCEL });
  for (let part = 0; part < 6; part++) await api.answer();
  await expect.poll(() => only(carried.list()).state).toBe("done");
  const left = [{ id: "busy", code: "job-running", detail: "job busy is running" }];
  const done = { changed: 3, skipped: { "job-running": 1 }, left, isDone: true, counted: 3 };
  expect(only(carried.list()).lines).toMatchObject([done, done]);
  expect(api.calls.map(({ body }) => [body.topic, body.cursor])).toEqual([
    ...[undefined, "2", "3"].map((cursor) => ["a", cursor]),
    ...[undefined, "2", "3"].map((cursor) => ["b", cursor]),
  ]);
  expect(api.calls[0]).toMatchObject({
    body: { action: "cancel", ...RANGE },
    query: { reason: "the sale is over" },
  });
});

test("a stopped action ends after its present call, and goes on where it was", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  const { id } = carried.start(planOf("a"), api.call) as CarriedAction;
  await api.answer();
  await expect.poll(() => api.calls.length).toBe(2);
  expect(carried.stop(id)?.state).toBe("stopping");
  await api.answer();
  await expect.poll(() => only(carried.list()).state).toBe("stopped");
  expect(only(carried.list()).lines).toMatchObject([{ changed: 2, cursor: "3", isDone: false }]);
  expect(api.calls).toHaveLength(2);
  expect(carried.goOn(id)?.state).toBe("running");
  await api.answer();
  await expect.poll(() => only(carried.list()).state).toBe("done");
  expect(api.calls.map(({ body }) => body.cursor)).toEqual([undefined, "2", "3"]);
});

test("an action that is stopped and continued during one call is not interrupted", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  const { id } = carried.start(planOf("a"), api.call) as CarriedAction;
  carried.stop(id);
  expect(carried.goOn(id)?.state).toBe("running");
  for (let part = 0; part < 3; part++) await api.answer();
  await expect.poll(() => only(carried.list()).state).toBe("done");
  expect(api.calls).toHaveLength(3);
});

test("a failed first part is repeated with its key, and a failed later part with its cursor", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  const { id } = carried.start(planOf("a"), api.call) as CarriedAction;
  const lost = new MinutehandError("unavailable", "no answer");
  await api.answer(lost);
  await expect.poll(() => only(carried.list()).state).toBe("failed");
  expect(only(carried.list()).error).toEqual({ code: "unavailable", detail: "no answer" });
  carried.goOn(id);
  expect(only(carried.list()).error).toBeUndefined();
  await api.answer();
  await api.answer(lost);
  await expect.poll(() => only(carried.list()).state).toBe("failed");
  expect(only(carried.list()).lines).toMatchObject([{ changed: 1, cursor: "2" }]);
  carried.goOn(id);
  await api.answer();
  await api.answer();
  await expect.poll(() => only(carried.list()).state).toBe("done");
  expect(api.calls.map(({ body }) => body.cursor)).toEqual([undefined, undefined, "2", "2", "3"]);
  expect(new Set(api.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
});

test("each line has a key of its own, so that two bulks of a topic are never taken for one", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  carried.start(planOf("a", "a"), api.call);
  for (let part = 0; part < 6; part++) await api.answer();
  await expect.poll(() => only(carried.list()).state).toBe("done");
  expect(new Set(api.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
});

test("an answer with the same cursor again ends the action, which would never end", async () => {
  const carried = carriedInTest();
  const call = (async () => ({ changed: 0, skipped: {}, reached: RANGE.from, cursor: "same" })) as Call;
  carried.start(planOf("a"), call);
  await expect.poll(() => only(carried.list()).state).toBe("failed");
  expect(only(carried.list()).error?.code).toBe("bad-answer");
});

test("the last 50 actions are kept, and one that runs is not forgotten", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  const ended = (async () => ({ changed: 1, skipped: {}, reached: RANGE.to })) as Call;
  const { id } = carried.start(planOf("runs"), api.call) as CarriedAction;
  for (let count = 0; count < 60; count++) {
    carried.start(planOf(`topic-${count}`), ended);
    await expect.poll(() => carried.list()[0]?.state).toBe("done");
  }
  expect(carried.list()).toHaveLength(50);
  expect(carried.list().at(-1)?.id).toBe(id);
  expect(carried.list()[0]?.lines[0]?.which.topic).toBe("topic-59");
});

test("no action starts beside 50 that run", () => {
  const api = scriptApi();
  const carried = carriedInTest();
  for (let count = 0; count < 50; count++) expect(carried.start(planOf("a"), api.call)).toBeDefined();
  expect(carried.start(planOf("a"), api.call)).toBeUndefined();
});

test("to stop all waits for the present calls, and answers what is not done", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  carried.start(planOf("done"), (async () => ({ changed: 1, skipped: {}, reached: RANGE.to })) as Call);
  await expect.poll(() => only(carried.list()).state).toBe("done");
  carried.start(planOf("a"), api.call);
  await expect.poll(() => api.calls.length).toBe(1);
  const stopped = carried.stopAll(new Promise(() => {}));
  await api.answer();
  expect(await stopped).toMatchObject([
    { state: "stopped", lines: [{ which: { topic: "a" }, changed: 1, cursor: "2" }] },
  ]);
});

test("to stop all does not wait longer than it may: a repeat of the part is harmless", async () => {
  const api = scriptApi();
  const carried = carriedInTest();
  carried.start(planOf("a"), api.call);
  expect(await carried.stopAll(Promise.resolve())).toMatchObject([{ state: "stopping" }]);
});

test("ages count from the server's own clock", async () => {
  let time = 1000;
  const carried = carriedInTest(() => time);
  carried.start(planOf("a"), (async () => ({ changed: 1, skipped: {}, reached: RANGE.to })) as Call);
  await expect.poll(() => only(carried.list()).endedAgo).toBe(0);
  time = 5000;
  expect(only(carried.list())).toMatchObject({ startedAgo: 4000, endedAgo: 4000 });
});

test("an action that does not exist is neither stopped nor continued", () => {
  const carried = carriedInTest();
  expect([carried.stop("other"), carried.goOn("other")]).toEqual([undefined, undefined]);
});
