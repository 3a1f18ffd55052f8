import { describe, expect, test } from "vitest";
import { fileOccurrence } from "../../src/protocol/file/recurring.ts";
import { type Api, createApi } from "../support/api.ts";
import { HOUR, MINUTE, SECOND, START } from "../support/world.ts";

/** Files a job that is due, and pulls it. */
async function pull({ file, receive }: Api, topic = "work") {
  await file({ topic, delay: 0 });
  return receive(topic);
}

describe("a pulled job", () => {
  test("comes with all that its consumer needs", async () => {
    const { call, file } = createApi();
    const { id } = await file({ topic: "work", delay: 0, body: [1], headers: { a: "b" } });
    const { status, json } = await call("POST", "/topics/work/receive", {
      body: { max: 10, waitSeconds: 0 },
    });
    expect(status).toBe(200);
    expect(json.jobs).toEqual([
      {
        id,
        receipt: expect.any(String),
        attempt: 1,
        dueAt: "2026-03-01T09:00:00.000Z",
        body: [1],
        headers: { a: "b" },
        leaseUntil: "2026-03-01T09:00:30.000Z",
      },
    ]);
    expect(await call("GET", `/jobs/${id}`)).toMatchObject({
      json: { state: "running", attempt: 1, claimedAt: "2026-03-01T09:00:00.000Z" },
    });
    expect(await call("DELETE", `/jobs/${id}`)).toMatchObject({ status: 409, json: { code: "job-running" } });
    expect((await call("POST", "/topics/work/receive")).json).toEqual({ jobs: [] });
  });

  test("of a keyed job has its key, and no other does", async () => {
    const { file, receive } = createApi();
    await file({ topic: "work", delay: 0, key: "order-17" });
    expect(await receive("work")).toMatchObject({ key: "order-17" });
    await file({ topic: "work", delay: 0 });
    expect(await receive("work")).not.toHaveProperty("key");
  });

  test("of a schedule has the schedule's name and the occurrence's time", async () => {
    const { call, world } = createApi();
    await call("PUT", "/schedules/daily", { body: { expression: "@daily", topic: "work", body: 1 } });
    const job = { topic: "work", body: "1" };
    const { home } = await fileOccurrence(world.ctx, { name: "daily", time: START - HOUR, job });
    const { json } = await call("POST", "/topics/work/receive");
    const named = { schedule: "daily", scheduledFor: "2026-03-01T08:00:00.000Z" };
    expect(json.jobs).toMatchObject([{ ...named, dueAt: "2026-03-01T09:00:00.000Z" }]);
    expect((await call("GET", `/jobs/${home.id}`)).json).toMatchObject(named);
  });

  test("can be finished twice with the same receipt, but not retried afterwards", async () => {
    const api = createApi();
    const { id, receipt } = await pull(api);
    for (let i = 0; i < 2; i++) {
      const finished = await api.call("POST", "/topics/work/finish", { body: { receipt } });
      expect(finished).toMatchObject({ status: 200, json: { id, state: "done", body: { n: 1 } } });
    }
    const retried = await api.call("POST", "/topics/work/retry", { body: { receipt } });
    expect(retried).toMatchObject({ status: 409, json: { code: "claim-lost", id } });
  });

  test.each([
    ["finish", "done"],
    ["retry", "scheduled"],
    ["bury", "dead"],
  ])("can be settled by %s after its lease until the queue notices the end", async (verb, state) => {
    const api = createApi();
    const { call, world } = api;
    const { receipt } = await pull(api);
    await world.pass(50 * SECOND);
    const late = await call("POST", "/topics/work/extend", { body: { receipt, seconds: 60 } });
    expect(late).toMatchObject({ status: 409, json: { code: "claim-lost" } });
    const settled = await call("POST", `/topics/work/${verb}`, { body: { receipt } });
    expect(settled).toMatchObject({ status: 200, json: { state, attempt: 1 } });
  });

  test.each(["finish", "retry", "bury"])(
    "cannot be settled by %s once the queue has noticed the end of its lease, and has used an attempt",
    async (verb) => {
      const api = createApi();
      const { id, receipt } = await pull(api);
      await api.world.pass(61 * SECOND);
      expect((await api.call("POST", "/topics/work/receive")).json).toEqual({ jobs: [] });
      const settled = await api.call("POST", `/topics/work/${verb}`, { body: { receipt } });
      expect(settled).toMatchObject({ status: 409, json: { code: "claim-lost" } });
      await api.world.pass(30 * SECOND);
      const { json } = await api.call("POST", "/topics/work/receive");
      expect(json.jobs).toMatchObject([{ id, attempt: 2 }]);
    },
  );

  test("is extended from the time of the call", async () => {
    const api = createApi();
    const { id, receipt } = await pull(api);
    await api.world.pass(20 * SECOND);
    const extended = await api.call("POST", "/topics/work/extend", { body: { receipt, seconds: 100 } });
    expect(extended).toMatchObject({ status: 200, json: { id, leaseUntil: "2026-03-01T09:02:00.000Z" } });
  });

  test("is retried after the delay that the caller gives", async () => {
    const api = createApi();
    const { receipt } = await pull(api);
    const body = { receipt, delay: "5m", error: "not yet \ud800" };
    const retried = await api.call("POST", "/topics/work/retry", { body });
    expect(retried).toMatchObject({
      status: 200,
      json: { state: "scheduled", dueAt: "2026-03-01T09:05:00.000Z", lastError: "not yet \ufffd" },
    });
  });

  test("of an untracked topic is settled by SQS alone", async () => {
    const api = createApi();
    const { receipt } = await pull(api, "events");
    const { call } = api;
    expect(await call("POST", "/topics/events/extend", { body: { receipt, seconds: 60 } })).toMatchObject({
      json: { leaseUntil: "2026-03-01T09:01:00.000Z" },
    });
    expect((await call("POST", "/topics/events/retry", { body: { receipt, delay: 30 } })).json).toEqual({});
    expect((await call("POST", "/topics/events/finish", { body: { receipt } })).json).toEqual({});
    const buried = await call("POST", "/topics/events/bury", { body: { receipt } });
    expect(buried).toMatchObject({ status: 409, json: { code: "untracked-topic" } });
  });

  test("cannot come from a Lambda topic", async () => {
    const api = createApi();
    const { receipt } = await pull(api);
    expect(await api.call("POST", "/topics/orders/receive")).toMatchObject({
      status: 409,
      json: { code: "not-a-pull-topic" },
    });
    expect(await api.call("POST", "/topics/orders/finish", { body: { receipt } })).toMatchObject({
      status: 409,
    });
  });
});

describe("dead jobs", () => {
  test("are listed page by page, oldest first", async () => {
    const api = createApi();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      ids.push(await api.bury());
      await api.world.pass(MINUTE);
    }
    const first = await api.call("GET", "/topics/work/dead?limit=2");
    expect(first.json.jobs).toMatchObject([{ id: ids[0], lastError: "hopeless" }, { id: ids[1] }]);
    const second = await api.call("GET", `/topics/work/dead?limit=2&cursor=${first.json.cursor}`);
    expect(second.json).toMatchObject({ jobs: [{ id: ids[2] }] });
    expect(second.json).not.toHaveProperty("cursor");
  });

  test("are filtered by tag and group, and a cursor is valid for no other filter", async () => {
    const api = createApi();
    const one = await api.bury({ tag: "a" });
    await api.world.pass(MINUTE);
    const two = await api.bury({ tag: "a", group: "g" });
    await api.bury({ tag: "b", group: "g" });
    const all = await api.call("GET", "/topics/work/dead?tag=a");
    expect(all.json.jobs).toMatchObject([{ id: one }, { id: two }]);
    const { cursor } = (await api.call("GET", "/topics/work/dead?tag=a&limit=1")).json;
    expect((await api.call("GET", `/topics/work/dead?tag=a&cursor=${cursor}`)).json.jobs).toHaveLength(1);
    expect((await api.call("GET", `/topics/work/dead?tag=b&cursor=${cursor}`)).status).toBe(400);
    expect((await api.call("GET", "/topics/work/dead?tag=a&group=g")).json.jobs).toMatchObject([{ id: two }]);
  });

  test("are redriven by their ids, the oldest first, or all at a rate", async () => {
    const api = createApi();
    const ids = [await api.bury(), await api.bury(), await api.bury()];
    const chosen = await api.call("POST", "/topics/work/redrive", { body: { ids: [ids[1]], delay: 60 } });
    expect(chosen).toMatchObject({ status: 200, json: { redriven: 1, left: 2 } });
    const oldest = await api.call("POST", "/topics/work/redrive", { body: { max: 1 } });
    expect(oldest.json).toEqual({ redriven: 1, left: 1 });
    const all = await api.call("POST", "/topics/work/redrive", { body: { ratePerSecond: 0.5 } });
    expect(all.json).toEqual({ redriven: 1, left: 0 });
    expect(await api.call("GET", `/jobs/${ids[1]}`)).toMatchObject({
      json: { state: "scheduled", attempt: 0, dueAt: "2026-03-01T09:01:00.000Z" },
    });
  });

  test("of an untracked topic are not recorded", async () => {
    const { call } = createApi();
    expect(await call("GET", "/topics/events/dead")).toMatchObject({
      status: 409,
      json: { code: "untracked-topic" },
    });
    expect(await call("POST", "/topics/events/redrive", { body: {} })).toMatchObject({ status: 409 });
  });
});
