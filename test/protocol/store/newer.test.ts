import { describe, expect, test } from "vitest";
import { homeKey, keyItemKey, onceKey, pauseKey, startsKey } from "../../../src/core/item-keys.ts";
import type { Item } from "../../../src/core/items.ts";
import { redriveEnvelope } from "../../../src/protocol/run/redrive-envelope.ts";
import { createApi, type Json } from "../../support/api.ts";
import { consume } from "../../support/consume.ts";
import { dead, dlq, orders, pull } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

type Place = { pk: string; sk: string };

/** Rewrites a stored item as a newer version would: with another `v`, and another name for its id. */
function rewrite(world: World, { pk, sk }: Place): Item {
  const found = world.pool.items().find((item) => item.pk === pk && item.sk === sk);
  if (!found) throw new Error(`there is no item at ${pk} ${sk}`);
  const { id, ...row } = found as Item & { id?: string };
  const item = { ...row, v: 2, ...(id === undefined ? {} : { name: id }) } as unknown as Item;
  world.pool.put(item);
  return item;
}

const at = (world: World, { pk, sk }: Place): Item | undefined =>
  world.pool.items().find((item) => item.pk === pk && item.sk === sk);

describe("a job that a newer version has written", () => {
  test("is answered as unavailable to all callers, and stays as it is", async () => {
    const api = createApi();
    const { world, call, file } = api;
    const job = await file({ delay: "30m", key: "order-1" });
    const plain = await file({ delay: "30m" });
    const written = [rewrite(world, homeKey(String(plain.id))), rewrite(world, homeKey(String(job.id)))];
    const newer = {
      status: 503,
      json: { code: "unavailable", detail: expect.stringContaining("its layout is version 2") },
    };
    const keyed = { topic: "orders", body: {}, delay: "1h", key: "order-1" };
    expect(await call("GET", `/jobs/${plain.id}`)).toMatchObject(newer);
    expect(await call("DELETE", `/jobs/${plain.id}`)).toMatchObject(newer);
    expect(await call("PATCH", `/jobs/${plain.id}`, { body: { delay: "2h" } })).toMatchObject(newer);
    expect(await call("POST", "/jobs", { body: keyed })).toMatchObject(newer);
    expect(await call("POST", "/jobs", { body: { ...keyed, onDuplicate: "replace" } })).toMatchObject(newer);
    for (const item of written) expect(at(world, item)).toEqual(item);
  });

  test("is left out and reported by lists, forecasts and bulks, which answer the others", async () => {
    const { world, call, file } = createApi();
    const newer = await file({ delay: "30m" });
    const other = await file({ delay: "30m" });
    const written = rewrite(world, homeKey(String(newer.id)));
    const { json } = await call("GET", "/jobs");
    expect((json.jobs as Json[]).map(({ id }) => id)).toEqual([other.id]);
    const report = { type: "unreadable", what: "listing jobs", jobs: 1, id: newer.id };
    expect(world.events).toContainEqual(expect.objectContaining(report));
    expect((await call("GET", "/forecast")).status).toBe(200);
    const many = await call("POST", "/jobs/cancel", { body: { ids: [newer.id, other.id] } });
    expect(JSON.stringify(many.json)).toContain("its layout is version 2");
    const bulk = {
      action: "cancel",
      topic: "orders",
      from: "2026-03-01T09:00:00Z",
      to: "2026-03-01T11:00:00Z",
    };
    expect(await call("POST", "/jobs/bulk", { body: bulk })).toMatchObject({ status: 200 });
    expect(at(world, written)).toEqual(written);
  });

  test("that is dead is neither listed nor redriven, and keeps its letter", async () => {
    const world = createWorld();
    const { call } = createApi(world);
    const newer = await dead(world);
    const other = await dead(world);
    const written = rewrite(world, homeKey(newer.id));
    const { json } = await call("GET", "/topics/orders/dead");
    expect((json.jobs as Json[]).map(({ id }) => id)).toEqual([other.id]);
    const named = await call("POST", "/topics/orders/redrive", { body: { ids: [newer.id] } });
    expect(named).toMatchObject({ status: 503, json: { code: "unavailable" } });
    expect((await call("POST", "/topics/orders/redrive", { body: {} })).json).toMatchObject({ redriven: 1 });
    await world.pass(2 * MINUTE);
    expect(world.queues.messages(dlq)).toHaveLength(1);
    expect(at(world, written)).toEqual(written);
    // If SQS redrives its letter, only the newer version can handle it.
    const letter = { v: 1, topic: "orders", dead: true as const };
    const jobs = [{ id: newer.id, revision: 0, attempt: 1, dueAt: new Date().toISOString(), body: {} }];
    expect(await redriveEnvelope(world.ctx, { ...letter, jobs })).toBe(false);
  });

  test("stays in its queue when an older consumer receives its message, and the other jobs of the pack run", async () => {
    const world = createWorld();
    const newer = await world.file({ delay: 0 });
    const written = rewrite(world, homeKey(newer.id));
    const mate = await world.file({ delay: 0 });
    const ran = [];
    for (let i = 0; i < 24 * 60; i++) {
      ran.push(...(await consume(world, "orders")));
      await world.pass(MINUTE, { ticks: false });
    }
    expect(ran).toMatchObject([{ id: mate.id }]);
    expect(at(world, written)).toEqual(written);
    expect(world.queues.messages(orders)).toHaveLength(1);
    expect(world.queues.messages(dlq)).toEqual([]);
  });
});

describe("a message that a newer version has sent", () => {
  test.each(["orders", "work", "events"])("stays in the queue of %s for a day", async (topic) => {
    const world = createWorld();
    const body = JSON.stringify({ v: 2, topic, tasks: [] });
    await world.queues.send({ topic }, [{ body, delaySeconds: 0 }]);
    for (let i = 0; i < 24 * 60; i++) {
      if (topic === "orders") expect(await consume(world, topic)).toEqual([]);
      else expect(await pull(world, topic)).toEqual([]);
      await world.pass(MINUTE, { ticks: false });
    }
    expect(world.queues.messages({ topic })).toMatchObject([{ body }]);
    const reports = world.events.filter(({ type }) => type === "trouble");
    expect(reports[0]).toMatchObject({ topic, error: expect.stringContaining("layout is version 2") });
    expect(reports.length).toBeLessThan(20);
  });

  test("stays in a DLQ", async () => {
    const world = createWorld();
    const body = JSON.stringify({ v: 2, topic: "orders", dead: true, tasks: [] });
    await world.queues.send(dlq, [{ body, delaySeconds: 0 }]);
    await world.pass(HOUR);
    expect(world.queues.messages(dlq)).toMatchObject([{ body }]);
  });
});

describe("items of a newer version that are not jobs", () => {
  test("are not used for answers: calls with such a key or Idempotency-Key are unavailable", async () => {
    const { world, call, file } = createApi();
    await file({ delay: "30m", key: "order-1" }, { "idempotency-key": "t" });
    const written = [rewrite(world, keyItemKey("orders", "order-1"))];
    const asked = { topic: "orders", body: { n: 1 }, delay: "30m", key: "order-1" };
    expect(await call("POST", "/jobs", { body: asked })).toMatchObject({ status: 503 });
    const once = world.pool.items().find(({ pk }) => pk.startsWith("once#"));
    written.push(rewrite(world, once ?? onceKey("orders", "t")));
    const repeated = await call("POST", "/jobs", { body: asked, headers: { "idempotency-key": "t" } });
    expect(repeated).toMatchObject({ status: 503, json: { code: "unavailable" } });
    for (const item of written) expect(at(world, item)).toEqual(item);
  });

  test("such as a pause hold their topic, and no other, until they can be read", async () => {
    const world = createWorld();
    const pause = { ...pauseKey("orders"), v: 2, mode: "off" } as unknown as Item;
    world.pool.put(pause);
    const job = await world.file({ delay: MINUTE });
    const other = await world.file({ topic: "precise", delay: MINUTE });
    await world.pass(30 * MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    expect(await consume(world, "precise")).toMatchObject([{ id: other.id }]);
    expect(at(world, pause)).toEqual(pause);
    expect(world.events).toContainEqual(
      expect.objectContaining({ topic: "orders", what: "reading a pause" }),
    );
    await world.pool.remove([pause], world.now() + SECOND);
    await world.pass(2 * HOUR);
    expect(await consume(world, "orders")).toMatchObject([{ id: job.id }]);
  });

  test("such as counters of a limit are not changed, and the limit's jobs wait for later counters", async () => {
    const world = createWorld({ topics: { slow: { maxPerSecond: 2 } } });
    const minute = world.now() + MINUTE;
    const starts = { ...startsKey("slow", minute), v: 2, counts: "of another shape" } as unknown as Item;
    world.pool.put(starts);
    const jobs = [await world.file({ topic: "slow", delay: MINUTE + SECOND })];
    await world.pass(SECOND);
    jobs.push(await world.file({ topic: "slow", delay: 3 * MINUTE }));
    await world.pass(10 * MINUTE);
    const ran = (await consume(world, "slow")).map(({ id }) => id);
    expect(ran.sort()).toEqual(jobs.map(({ id }) => id).sort());
    expect(at(world, starts)).toEqual(starts);
    expect(world.events).toContainEqual(
      expect.objectContaining({ topic: "slow", reason: expect.stringContaining("a newer version") }),
    );
  });

  test("such as a cursor stop their shard with an error, and are not written", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const written = rewrite(world, { pk: "cursor#0", sk: "cursor" });
    await expect(world.tick()).rejects.toThrow(
      "the cursor of shard 0 cannot be read: its layout is version 2",
    );
    expect(at(world, written)).toEqual(written);
  });
});
