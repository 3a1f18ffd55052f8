import { describe, expect, it } from "vitest";
import { MinutehandError } from "../../../src/core/errors.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Item } from "../../../src/core/items.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { type ErasePart, type EraseRequest, runErase } from "../../../src/protocol/change/erase.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { consume } from "../../support/consume.ts";
import { dead, dlq, meanwhile } from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

const tag = "customer-42";
const SECRET = "Jane Doe";
const body = JSON.stringify(SECRET);
const DAY = 24 * HOUR;

async function parts({ ctx }: World, asked: Partial<EraseRequest> = { tag }): Promise<ErasePart[]> {
  const done: ErasePart[] = [];
  let at: ErasePart["next"];
  do {
    const part = await runErase(ctx, { dryRun: false, ...asked }, at);
    done.push(part);
    at = part.next;
  } while (at);
  return done;
}

async function erase(world: World, asked?: Partial<EraseRequest>): Promise<ErasePart> {
  const [part, ...more] = await parts(world, asked);
  expect(more).toEqual([]);
  return part as ErasePart;
}

const homesOf = ({ pool }: World): Home[] => pool.items().filter((item): item is Home => "state" in item);
const textOf = (items: readonly unknown[]): string => JSON.stringify(items);
const of = (world: World, prefix: string): Item[] =>
  world.pool.items().filter(({ pk }) => pk.startsWith(prefix));

const isTransaction = ({ operation }: { operation: string }): boolean => operation === "transact";

/** A job of the customer in each state except `running`. */
async function lifeOf(world: World): Promise<string[]> {
  const mine = { tag, body };
  const { id: died } = await dead(world, { ...mine, key: `${SECRET} dead` });
  const done = await world.file({ ...mine, key: `${SECRET} done`, maxAttempts: 1 });
  await consume(world, "orders");
  const waiting = await world.file({ ...mine, key: `${SECRET} waits`, delay: HOUR });
  const far = await world.file({ ...mine, delay: 400 * DAY });
  const moved = await world.file({ ...mine, delay: HOUR });
  await reschedule(world.ctx, moved.id, { dueAt: world.now() + 3 * DAY });
  return [died, done.id, waiting.id, far.id, moved.id];
}

describe("an erase", () => {
  it("deletes the jobs of a tag in any state and of any time, with all items that hold their texts", async () => {
    const world = createWorld();
    const other = await world.file({ tag: "customer-43", key: "other", delay: HOUR });
    const ids = await lifeOf(world);
    const once = { token: `${SECRET} once`, hash: "h" };
    const { id } = await world.file({ tag, body, key: `${SECRET} once`, once, delay: HOUR });
    const alone = { token: `${SECRET} alone`, hash: "h", batch: { token: `${SECRET} batch`, at: 0 } };
    await world.file({ tag, body, once: alone, delay: HOUR });
    expect(textOf(world.pool.items())).toContain(SECRET);
    expect(await erase(world)).toEqual({ examined: 8, matched: 7, changed: 7, skipped: {}, errors: [] });
    expect(textOf(world.pool.items())).not.toContain(SECRET);
    expect(homesOf(world).map((home) => home.id)).toEqual([other.id]);
    for (const gone of [...ids, id]) await expect(world.home(gone)).rejects.toThrow("no job");
    expect(of(world, "dead#")).toEqual([]);
    expect(of(world, "key#")).toMatchObject([{ id: other.id }]);
    expect(world.promotions.filed.size).toBe(0);
  });

  it("counts them in a dry run, and changes nothing", async () => {
    const world = createWorld();
    await lifeOf(world);
    const before = world.pool.items();
    expect(await erase(world, { tag, dryRun: true })).toMatchObject({ matched: 5, changed: 0, skipped: {} });
    expect(world.pool.items()).toEqual(before);
  });

  it("finds jobs by topic, group and the beginning of keys too", async () => {
    const world = createWorld();
    const mine = await world.file({ group: "g", key: "customer-42/a", delay: HOUR });
    await world.file({ group: "h", key: "customer-42/b", delay: HOUR });
    await world.file({ group: "g", key: "customer-421", delay: HOUR });
    await world.file({ topic: "precise", group: "g", key: "customer-42/a", delay: HOUR });
    const asked = { topic: "orders", group: "g", keyPrefix: "customer-42/" };
    expect(await erase(world, asked)).toMatchObject({ examined: 4, matched: 1, changed: 1 });
    await expect(world.home(mine.id)).rejects.toThrow("no job");
  });

  it("leaves a running job as it is, and counts it; a later erase deletes it", async () => {
    const world = createWorld();
    const { id } = await world.file({ tag });
    const met: ErasePart[] = [];
    await consume(world, "orders", {
      run: async () => {
        met.push(await erase(world, { tag, dryRun: true }), await erase(world));
        return { end: "done" };
      },
    });
    const left = { matched: 1, changed: 0, skipped: { "job-running": 1 }, errors: [{ id }] };
    expect(met).toMatchObject([left, left]);
    expect(await world.home(id)).toMatchObject({ state: "done" });
    expect(await erase(world)).toMatchObject({ matched: 1, changed: 1 });
    expect(await erase(world)).toMatchObject({ matched: 0, changed: 0 });
  });

  it("makes the messages of its jobs void, and no look or note brings a job back", async () => {
    const world = createWorld();
    await world.file({ tag, delay: MINUTE });
    await world.file({ tag, delay: 10 * MINUTE });
    const retried = await world.file({ tag, key: "k" });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "no" }) });
    expect(await world.home(retried.id)).toMatchObject({ state: "scheduled", revision: 1 });
    expect(await erase(world)).toMatchObject({ changed: 3 });
    const runs = [];
    for (let i = 0; i < 60; i++) {
      await world.pass(MINUTE);
      runs.push(...(await consume(world, "orders")));
    }
    expect(runs).toEqual([]);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    expect(homesOf(world)).toEqual([]);
  });

  it("makes the next tick remove the letters of its dead jobs", async () => {
    const world = createWorld();
    await dead(world, { tag, body });
    const other = await dead(world);
    expect(world.queues.messages(dlq)).toHaveLength(2);
    await erase(world);
    await world.pass(2 * MINUTE);
    expect(world.queues.messages(dlq).map((letter) => letter.body)).toEqual([
      expect.stringContaining(other.id),
    ]);
  });

  it("keeps all items of a job that is redriven meanwhile, and says so", async () => {
    const world = createWorld();
    const { id } = await dead(world, { tag, key: "k" });
    meanwhile(world, isTransaction, () => redrive(world.ctx, "orders", { ids: [id], max: 1, delay: 0 }));
    const part = await erase(world);
    expect(part).toMatchObject({ matched: 1, changed: 0, skipped: { "changed-meanwhile": 1 } });
    expect(await world.home(id)).toMatchObject({ state: "scheduled" });
    expect(of(world, "key#")).toMatchObject([{ id }]);
    expect(await erase(world)).toMatchObject({ changed: 1 });
  });

  it("leaves a job to which somebody gives another tag meanwhile", async () => {
    const world = createWorld();
    const { id } = await world.file({ tag, key: "k", delay: HOUR });
    const isCancel = ({ operation }: { operation: string }): boolean => operation === "changeMany";
    meanwhile(world, isCancel, async () => {
      const dueAt = world.now() + HOUR;
      const job = { topic: "orders", key: "k", body: "{}", tag: "customer-7", dueAt };
      await enqueue(world.ctx, { ...job, onDuplicate: "replace" });
    });
    expect(await erase(world)).toMatchObject({ changed: 0, skipped: {} });
    expect(await world.home(id)).toMatchObject({ state: "scheduled", tag: "customer-7" });
  });

  it("leaves what shows that an occurrence of a schedule or an event has filed a job", async () => {
    const world = createWorld();
    for (const token of ["§nightly§2026-03-01T09:00Z", "§cart-left§rule§event-17", "§run nightly§jane"])
      await world.file({ tag, body, once: { token, hash: "h" } });
    await consume(world, "orders");
    expect(await erase(world)).toMatchObject({ changed: 3 });
    expect(of(world, "once#").map(({ pk }) => pk)).toEqual([
      expect.stringContaining("§nightly§2026"),
      expect.stringContaining("event-17"),
    ]);
  });

  it("leaves a key that another job has taken meanwhile", async () => {
    const world = createWorld();
    await world.file({ tag, key: "k" });
    await consume(world, "orders");
    let next = "";
    meanwhile(world, isTransaction, async () => {
      ({ id: next } = await world.file({ key: "k", delay: HOUR }));
    });
    expect(await erase(world)).toMatchObject({ changed: 1, skipped: {} });
    expect(of(world, "key#")).toMatchObject([{ id: next }]);
    expect(await world.home(next)).toMatchObject({ state: "scheduled", key: "k" });
  });

  it("leaves the once item of a batch, which names other jobs too and holds none of their texts", async () => {
    const world = createWorld();
    const batch = (at: number) => ({ token: `b§${at}`, hash: "h", batch: { token: "b§batch", at } });
    const jobs = [0, 1].map((at) => ({
      topic: "orders",
      ...{ body, dueAt: world.now() + HOUR, once: batch(at), ...(at === 0 && { tag }) },
    }));
    await enqueueMany(world.ctx, jobs);
    expect(await erase(world)).toMatchObject({ changed: 1 });
    expect(of(world, "once#")).toHaveLength(1);
    expect(textOf(of(world, "once#"))).not.toContain(SECRET);
  });

  it("leaves the once item of a batch to which a repeat adds a job meanwhile", async () => {
    const world = createWorld();
    const jobs = [0, 1].map((at) => ({
      topic: "orders",
      ...{ body: "{}", dueAt: world.now() + (at + 1) * HOUR, ...(at === 0 && { tag }) },
      once: { token: `b§${at}`, hash: "h", batch: { token: "b§batch", at } },
    }));
    await enqueueMany(world.ctx, jobs.slice(0, 1));
    meanwhile(world, isTransaction, () => enqueueMany(world.ctx, jobs));
    expect(await erase(world)).toMatchObject({ changed: 1 });
    const filed = homesOf(world).map(({ id }) => id);
    await enqueueMany(world.ctx, jobs.slice(1));
    expect(homesOf(world).map(({ id }) => id)).toEqual(filed);
  });

  it("deletes an untracked job, whose message may still run once", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "events", tag, body, delay: HOUR });
    expect(await erase(world)).toMatchObject({ changed: 1, skipped: {} });
    await expect(world.home(id)).rejects.toThrow("no job");
  });

  it("can be repeated after a crash between any two calls", async () => {
    for (const operation of ["scan", "changeMany", "transact", "remove"])
      for (const where of ["before", "after"] as const) {
        const world = createWorld();
        await lifeOf(world);
        breakOnce(world, where, (call) => call.operation === operation);
        await expect(erase(world)).rejects.toThrow("crash");
        await erase(world);
        expect(textOf(world.pool.items())).not.toContain(SECRET);
        expect(homesOf(world)).toEqual([]);
      }
  });

  it("goes through the table part by part, and counts each job once", async () => {
    const world = createWorld({}, { ...SIZES, bulkJobs: 3 });
    for (let i = 0; i < 20; i++) await world.file({ tag, key: `k${i}`, delay: HOUR + i * SECOND });
    const done = await parts(world);
    expect(done.length).toBeGreaterThan(5);
    expect(done.reduce((sum, { changed }) => sum + changed, 0)).toBe(20);
    expect(homesOf(world)).toEqual([]);
  });

  it("counts a job that a newer version wrote as left", async () => {
    const world = createWorld();
    const home = await world.file({ tag, delay: HOUR });
    world.pool.put({ ...home, v: 2 });
    const part = await erase(world);
    expect(part).toMatchObject({ matched: 1, changed: 0, skipped: { unavailable: 1 } });
    expect(part.errors[0]?.error).toBeInstanceOf(MinutehandError);
  });

  it("says in the timeline of a job that it has cancelled, and could not delete, who did it", async () => {
    const world = createWorld();
    const { id } = await world.file({ tag, delay: HOUR });
    const ctx = { ...world.ctx, by: () => ({ kind: "caller", name: "alice" }) as const };
    breakOnce(world, "before", isTransaction);
    await expect(runErase(ctx, { tag, dryRun: false }, undefined)).rejects.toThrow("crash");
    expect(await world.home(id)).toMatchObject({
      state: "cancelled",
      cancelledBy: { kind: "bulk", name: "alice" },
    });
  });

  it("does not stop a later enqueue of the same key", async () => {
    const world = createWorld();
    await world.file({ tag, key: "k", delay: HOUR });
    await erase(world);
    const again = await enqueue(world.ctx, {
      ...{ topic: "orders", key: "k", body: "{}", dueAt: world.now() + HOUR },
    });
    expect(again.outcome).toBe("created");
  });
});
