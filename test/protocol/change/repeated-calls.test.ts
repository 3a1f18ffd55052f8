import { describe, expect, it } from "vitest";
import { DAY } from "../../../src/core/constants.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { consume } from "../../support/consume.ts";
import { breakOnce, createWorld, HOUR, MINUTE, type World } from "../../support/world.ts";

const call = { key: "key", request: "request" };
const other = { key: "key", request: "another request" };
const mismatch = { code: "idempotency-mismatch" };

async function bury(world: World, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    ids.push((await world.file({})).id);
    await consume(world, "orders", { run: () => ({ end: "buried", error: "x" }) });
    await world.pass(1);
  }
  return ids;
}

describe("a repeated reschedule with its Idempotency-Key", () => {
  it("leaves unchanged what another caller has changed since", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR });
    const first = { dueAt: world.now() + 2 * HOUR, body: '"first"', call };
    await reschedule(world.ctx, id, first);
    const later = await reschedule(world.ctx, id, { dueAt: world.now() + DAY, body: '"later"' });
    expect(await reschedule(world.ctx, id, first)).toEqual(later);
    expect(await world.home(id)).toEqual(later);
  });

  it("is answered with the job even if the job runs or is done", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR });
    const change = { dueAt: world.now(), call };
    await reschedule(world.ctx, id, change);
    await consume(world, "orders", {
      run: async () => {
        expect(await reschedule(world.ctx, id, change)).toMatchObject({ state: "running" });
        return { end: "done" };
      },
    });
    expect(await reschedule(world.ctx, id, change)).toMatchObject({ id, state: "done" });
  });

  it("sends the job when the first one died before it did", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR });
    breakOnce(
      world,
      "after",
      ({ operation, keys }) => operation === "change" && keys[0]?.sk.endsWith(id) === true,
    );
    const change = { dueAt: world.now(), call };
    await expect(reschedule(world.ctx, id, change)).rejects.toThrow("crash");
    expect(world.visible("orders")).toEqual([]);
    await reschedule(world.ctx, id, change);
    expect(world.visible("orders")).toMatchObject([{ id, revision: 1 }]);
  });

  it("is refused when it is a different request", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR });
    await reschedule(world.ctx, id, { dueAt: world.now() + DAY, call });
    await expect(reschedule(world.ctx, id, { dueAt: world.now(), call: other })).rejects.toMatchObject(
      mismatch,
    );
  });

  it("is recognised until ten other calls have changed the job", async () => {
    const world = createWorld();
    const { id } = await world.file({ delay: HOUR });
    await reschedule(world.ctx, id, { body: '"first"', call });
    for (let n = 1; n <= 9; n++)
      await reschedule(world.ctx, id, { body: `"${n}"`, call: { key: `${n}`, request: "" } });
    expect(await reschedule(world.ctx, id, { body: '"first"', call })).toMatchObject({ body: '"9"' });
    await reschedule(world.ctx, id, { body: '"10"', call: { key: "10", request: "" } });
    expect((await world.home(id)).calls?.split("\n")).toHaveLength(10);
  });
});

describe("a repeated redrive with its Idempotency-Key", () => {
  const request = { max: 2, delay: HOUR, call };

  it("of ids counts the jobs that it redrove, and leaves them as they are now", async () => {
    const world = createWorld();
    const ids = await bury(world, 3);
    expect(await redrive(world.ctx, "orders", { ...request, ids })).toEqual({ redriven: 3, left: 0 });
    const moved = await reschedule(world.ctx, ids[0] ?? "", { dueAt: world.now() + DAY });
    expect(await redrive(world.ctx, "orders", { ...request, ids })).toEqual({ redriven: 3, left: 0 });
    expect(await world.home(moved.id)).toEqual(moved);
  });

  it("of the oldest jobs takes no other jobs, and redrives those that the first try did not reach", async () => {
    const world = createWorld();
    const ids = await bury(world, 4);
    breakOnce(
      world,
      "before",
      ({ operation, keys }) => operation === "change" && keys[0]?.sk.includes(ids[1] ?? "") === true,
    );
    await expect(redrive(world.ctx, "orders", request)).rejects.toThrow("crash");
    const states = async () => Promise.all(ids.map(async (id) => (await world.home(id)).state));
    expect(await states()).toEqual(["scheduled", "dead", "dead", "dead"]);
    expect(await redrive(world.ctx, "orders", request)).toEqual({ redriven: 2, left: 2 });
    expect(await redrive(world.ctx, "orders", request)).toEqual({ redriven: 2, left: 2 });
    expect(await states()).toEqual(["scheduled", "scheduled", "dead", "dead"]);
  });

  it("does not redrive a job that died again", async () => {
    const world = createWorld();
    const [id = ""] = await bury(world, 1);
    await redrive(world.ctx, "orders", { ...request, ids: [id], delay: 0 });
    await consume(world, "orders", { run: () => ({ end: "buried", error: "again" }) });
    expect(await redrive(world.ctx, "orders", { ...request, ids: [id], delay: 0 })).toEqual({
      redriven: 1,
      left: 1,
    });
    expect(await world.home(id)).toMatchObject({ state: "dead", lastError: "again" });
  });

  it("takes the same jobs as its first try, even if both choose them at the same time", async () => {
    const world = createWorld();
    const ids = await bury(world, 2);
    world.pool.hooks.before = async ({ operation, keys }) => {
      if (operation !== "insert" || keys[0]?.sk !== "redrive") return;
      delete world.pool.hooks.before;
      await redrive(world.ctx, "orders", { ...request, max: 2 });
      await bury(world, 1);
    };
    expect(await redrive(world.ctx, "orders", request)).toEqual({ redriven: 2, left: 1 });
    expect(ids).toHaveLength(2);
  });

  it("is a new call after a day, whenever TTL comes", async () => {
    const world = createWorld();
    await bury(world, 1);
    await redrive(world.ctx, "orders", request);
    await world.pass(26 * HOUR, { ticks: false });
    const [id = ""] = await bury(world, 1);
    expect(await redrive(world.ctx, "orders", request)).toEqual({ redriven: 1, left: 0 });
    expect(await world.home(id)).toMatchObject({ state: "scheduled" });
  });

  it("is refused when it is a different request", async () => {
    const world = createWorld();
    const ids = await bury(world, 2);
    await redrive(world.ctx, "orders", { ...request, max: 1 });
    await expect(redrive(world.ctx, "orders", { ...request, call: other })).rejects.toMatchObject(mismatch);
    await redrive(world.ctx, "orders", { ...request, ids, call: { key: "k", request: "" } });
    await expect(
      redrive(world.ctx, "orders", { ...request, ids, call: { key: "k", request: "else" } }),
    ).rejects.toMatchObject(mismatch);
  });

  it("counts a job that the first one moved and did not send, and leaves the sending to a tick", async () => {
    const world = createWorld();
    const [id = ""] = await bury(world, 1);
    breakOnce(
      world,
      "after",
      ({ operation, keys }) => operation === "change" && keys[0]?.sk.endsWith(id) === true,
    );
    const now = { ...request, ids: [id], delay: 0 };
    await expect(redrive(world.ctx, "orders", now)).rejects.toThrow("crash");
    expect(world.visible("orders")).toEqual([]);
    expect(await redrive(world.ctx, "orders", now)).toMatchObject({ redriven: 1 });
    expect(world.visible("orders")).toEqual([]);
    await world.pass(MINUTE);
    expect(world.visible("orders")).toMatchObject([{ id, revision: 1 }]);
  });
});
