import { describe, expect, it } from "vitest";
import { LOOKAHEAD, WRITER_DEADLINE } from "../../../src/core/constants.ts";
import { homeKey, timeOf } from "../../../src/core/item-keys.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { auditShard } from "../../../src/protocol/hand-over/audit.ts";
import { backlogsOf } from "../../../src/protocol/hand-over/backlog.ts";
import { readCursor } from "../../../src/protocol/hand-over/cursor.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Pool } from "../../../src/protocol/ports.ts";
import type { Pulled } from "../../../src/protocol/run/pull.ts";
import { extend } from "../../../src/protocol/run/settle-pulled.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import {
  type Call,
  callsOf,
  cursors,
  isAt,
  isLook,
  meanwhile,
  orders,
  pull,
  pullOne,
} from "../../support/scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

/** Which position moves over this bucket: a sweep reads minutes ahead of the clock, and an audit reads minutes that are past. */
function readerOf(world: World, pk: string): "swept" | "audited" | undefined {
  const minute = Date.parse(`${pk.split("#")[0]}Z`);
  return Number.isNaN(minute) ? undefined : minute < world.now() ? "audited" : "swept";
}

describe("sweep and audit", () => {
  it("an audit that dies after its sends repeats the page", async () => {
    const world = createWorld();
    await world.tick();
    await world.file({ delay: SECOND });
    world.queues.purge(orders);
    breakOnce(world, "before", isLook);
    for (let i = 0; i < 30 && world.pool.hooks.before; i++) await world.pass(MINUTE).catch(() => {});
    expect(world.pool.hooks.before).toBeUndefined();
    world.queues.purge(orders);
    await world.pass(2 * MINUTE);
    expect(world.queues.messages(orders)).toHaveLength(1);
  });

  it("an audit slower than its writer's deadline files no look and keeps its place", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    await world.file({ delay: SECOND });
    world.queues.purge(orders);
    world.queues.hooks.before = async ({ operation }) => {
      if (operation !== "send") return;
      delete world.queues.hooks.before;
      await world.pass(WRITER_DEADLINE, { ticks: false });
    };
    await expect(world.pass(30 * MINUTE)).rejects.toThrow("must be issued before");
  });

  it("an audit whose time ends writes how far it came", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    for (const delay of [SECOND, 2 * MINUTE]) await world.file({ delay });
    await world.pass(4 * MINUTE);
    world.queues.purge(orders);
    await world.pass(20 * MINUTE, { ticks: false });
    const { audited } = await readCursor(world.ctx, 0);
    const until = world.now() + SECOND;
    world.queues.hooks.before = async ({ operation }) => {
      if (operation !== "send") return;
      delete world.queues.hooks.before;
      await world.pass(2 * SECOND, { ticks: false });
    };
    await auditShard(world.ctx, 0, until, backlogsOf(world.ctx));
    expect(world.now()).toBeGreaterThan(until);
    expect(timeOf((await readCursor(world.ctx, 0)).audited)).toBeGreaterThan(timeOf(audited));
  });

  it("an audit that fails on a later page writes how far it came", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    await world.file({ delay: 6 * MINUTE });
    const last = await world.file({ delay: 40 * MINUTE });
    await world.pass(42 * MINUTE, { ticks: false });
    await world.tick();
    world.queues.purge(orders);
    await world.pass(12 * MINUTE, { ticks: false });
    const bucket = homeKey(last.id).pk;
    const { page } = world.pool;
    world.pool.page = async (pk, ...range) => {
      if (pk === bucket) throw new Error("throttled");
      return page(pk, ...range);
    };
    const { audited } = await readCursor(world.ctx, 0);
    const audit = auditShard(world.ctx, 0, world.now() + MINUTE, backlogsOf(world.ctx));
    await expect(audit).rejects.toThrow("throttled");
    expect(world.visible("orders")).toHaveLength(1);
    expect(timeOf((await readCursor(world.ctx, 0)).audited)).toBeGreaterThan(timeOf(audited));
  });

  it("a home that cannot be read does not stop the audit of its shard", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const moved = await world.file({ delay: 2 * HOUR });
    await reschedule(world.ctx, moved.id, { dueAt: world.now() + MINUTE });
    const { id } = await world.file({ delay: 2 * MINUTE });
    await world.pass(4 * MINUTE);
    world.queues.purge(orders);
    const bucket = homeKey(moved.id).pk;
    world.pool.hooks.before = ({ operation, keys }) => {
      if (operation === "read" && keys.some(({ pk }) => pk === bucket)) throw new Error("throttled");
    };
    await world.pass(16 * MINUTE);
    expect(world.visible("orders").map((job) => job.id)).toContain(id);
    delete world.pool.hooks.before;
    await world.pass(HOUR);
    expect(world.visible("orders").map((job) => job.id)).toContain(moved.id);
  });

  it("a run under a live lease is not sent again, and is looked at when its lease has ended", async () => {
    const world = createWorld();
    await world.tick();
    const { id } = await world.file({ topic: "work" });
    await extend(world.ctx, "work", (await pullOne(world)).receipt, 2 * HOUR);
    world.queues.purge({ topic: "work" });
    await world.pass(HOUR);
    expect(world.queues.messages({ topic: "work" })).toEqual([]);
    let runs: Pulled[] = [];
    for (let i = 0; i < 60 && runs.length === 0; i++) {
      await world.pass(5 * MINUTE);
      runs = await pull(world);
    }
    expect(runs).toMatchObject([{ id, attempt: 2 }]);
  });

  it("a crashed run whose message is lost is found", async () => {
    const world = createWorld();
    await world.tick();
    const { id } = await world.file({});
    await crashWhileRunning(world, "orders");
    world.queues.purge(orders);
    const runs = [];
    for (let i = 0; i < 60; i++) {
      await world.pass(MINUTE);
      runs.push(...(await consume(world, "orders")));
    }
    expect(runs).toMatchObject([{ id, attempt: 2 }]);
  });

  it("a sweep or audit that was overtaken does not set the cursor back", async () => {
    for (const field of ["swept", "audited"] as const) {
      const world = createWorld({ shards: 1 });
      await world.pass(30 * MINUTE);
      let seen = "";
      const { page } = world.pool;
      world.pool.page = async (pk, ...range) => {
        if (readerOf(world, pk) === field) {
          world.pool.page = page;
          await world.pass(2 * MINUTE);
          seen = cursors(world)[0]?.[field] ?? "";
        }
        return page(pk, ...range);
      };
      await world.pass(MINUTE);
      expect(seen).not.toBe("");
      expect(cursors(world)[0]?.[field]).toBe(seen);
    }
  });

  it("the cursor of an idle shard is read seven times in four minutes, and written twice by its sweep and once by its audit", async () => {
    const world = createWorld({ shards: 1 });
    await world.pass(30 * MINUTE);
    const [before] = cursors(world);
    const calls = await callsOf(world, () => world.pass(4 * MINUTE));
    const isOfCursor = ({ keys }: Call): boolean => keys.some(({ pk }) => pk.startsWith("cursor#"));
    const operations = calls.filter(isOfCursor).map(({ operation }) => operation);
    expect(operations.filter((operation) => operation === "change")).toHaveLength(3);
    expect(operations.filter((operation) => operation === "read")).toHaveLength(7);
    const [after] = cursors(world);
    for (const field of ["swept", "audited"] as const)
      expect(timeOf(after?.[field] ?? "") - timeOf(before?.[field] ?? "")).toBe(4 * MINUTE);
    const { position, reachedAt } = after?.trail.at(-1) ?? {};
    expect(position).toBe(after?.swept);
    expect(timeOf(position ?? "") - (reachedAt ?? 0)).toBe(LOOKAHEAD);
  });

  it("a sweep that has found an entry writes its place in the same minute", async () => {
    const world = createWorld({ shards: 1 });
    await world.pass(30 * MINUTE);
    for (let minute = 0; minute < 4; minute++) {
      await world.file({ delay: 3 * MINUTE + 30 * SECOND + 1 });
      await world.pass(MINUTE);
      expect(timeOf(cursors(world)[0]?.swept ?? "")).toBe(world.now() + LOOKAHEAD);
    }
  });

  it("the position of a sweep is written even if the audit fails", async () => {
    const world = createWorld({ shards: 1 });
    await world.pass(30 * MINUTE);
    const [before] = cursors(world);
    const { page } = world.pool;
    let failures = 0;
    world.pool.page = async (pk, ...range) => {
      if (readerOf(world, pk) === "audited") throw new Error("no answer");
      return page(pk, ...range);
    };
    for (let minute = 0; minute < 2; minute++)
      await world.pass(MINUTE).catch(() => {
        failures += 1;
      });
    expect(failures).toBeGreaterThan(0);
    const [after] = cursors(world);
    expect(timeOf(after?.swept ?? "") - timeOf(before?.swept ?? "")).toBe(2 * MINUTE);
    expect(after?.audited).toBe(before?.audited);
  });

  it("a sweep's limit is fixed before its first read", async () => {
    const world = createWorld({ shards: 1 });
    await world.pass(MINUTE);
    const limit = world.now() + MINUTE + LOOKAHEAD;
    meanwhile(world, isAt("2026-", "page"), () => world.pass(30 * SECOND, { ticks: false }));
    await world.pass(MINUTE);
    expect(Number(cursors(world)[0]?.swept.slice(0, 13))).toBeLessThanOrEqual(limit);
  });

  it("a sweep sends nothing at the old time of a job that was moved to a later one", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 10 * MINUTE });
    await reschedule(world.ctx, job.id, { dueAt: world.now() + 2 * HOUR });
    await world.pass(HOUR);
    expect(world.queues.messages(orders)).toEqual([]);
  });

  it("when SQS as a whole is unreachable no look is filed: the cursor waits", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * MINUTE });
    await world.pass(6 * MINUTE);
    world.queues.trouble("all", "unreachable");
    await world.pass(10 * MINUTE);
    expect(world.pool.items().filter(({ sk }) => sk.endsWith("#look"))).toEqual([]);
    world.queues.trouble("all", undefined);
    await world.tick();
    expect(world.visible("orders")).toHaveLength(1);
  });

  it("a queue that fails for long is tried ever less often", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * MINUTE });
    await world.pass(6 * MINUTE);
    world.queues.trouble(orders, "failing");
    await world.pass(5 * HOUR);
    const tries = world.events.filter(({ type }) => type === "hand-over-failed").length;
    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(100);
  });

  it("a job moved while its queue is found missing does not die by its old revision", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 10 * MINUTE });
    world.queues.trouble(orders, "missing");
    meanwhile(world, isAt("dead#", "insert"), () =>
      reschedule(world.ctx, job.id, { dueAt: world.now() + 5 * HOUR }),
    );
    await world.pass(10 * MINUTE);
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", revision: 1 });
  });

  it("writers use a new shard only after its cursor is written", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    let standing = 0;
    meanwhile(world, isAt("meta", "change"), async () => {
      standing = cursors(world).length;
    });
    await tick({ ...world.ctx, policy: { ...world.ctx.policy, shards: 4 } }, world.now() + MINUTE);
    expect(standing).toBe(4);
  });

  it("the failure of one shard does not stop the others", async () => {
    const world = createWorld({ shards: 4 });
    await world.pass(MINUTE);
    const jobs = await Promise.all(Array.from({ length: 40 }, () => world.file({ delay: 10 * MINUTE })));
    await world.pass(7 * MINUTE);
    breakOnce(world, "before", isAt("cursor#2", "read"));
    await expect(world.pass(MINUTE)).rejects.toThrow();
    const others = jobs.filter(({ id }) => addressOf(id).shard !== 2);
    const sent = world.queues.messages(orders).flatMap(({ body }) => JSON.parse(body).jobs);
    expect(sent).toHaveLength(others.length);
  });

  it("a long sweep marks its cursor on the way, so that a crash repeats little", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    const dueAt = world.now() + HOUR;
    await enqueueMany(
      world.ctx,
      Array.from({ length: 2_600 }, () => ({ topic: "orders", body: "{}", dueAt })),
    );
    await world.pass(HOUR - 2 * MINUTE, { ticks: false });
    const marks: string[] = [];
    world.pool.hooks.after = ({ operation, keys }) => {
      if (operation === "change" && keys[0]?.pk === "cursor#0") marks.push(cursors(world)[0]?.ahead ?? "");
    };
    await world.tick();
    const messages = world.queues.messages({ topic: "orders" });
    expect(messages.flatMap(({ body }) => JSON.parse(body).jobs)).toHaveLength(2_600);
    expect(messages.length).toBeLessThan(265);
    expect(marks.filter((ranges) => ranges.includes("#")).length).toBe(1);
  });

  it("a sweep that fails, or does not get its turn, still reports how far behind it is", async () => {
    const world = createWorld({ shards: 2 });
    await world.tick();
    await world.pass(20 * MINUTE, { ticks: false });
    world.events.length = 0;
    const page: Pool["page"] = () => Promise.reject(new Error("a partition fails"));
    await tick({ ...world.ctx, pool: { ...world.pool, page } }, world.now() + MINUTE).catch(() => {});
    await tick(world.ctx, world.now() - 1);
    const lags = world.events.flatMap((event) => (event.type === "swept" ? [event.lagMs] : []));
    expect(lags.length).toBeGreaterThanOrEqual(4);
    expect(new Set(lags)).toEqual(new Set([20 * MINUTE]));
  });

  it("an audit that fails at one place for hours keeps the cursor's item small, and then continues from there", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    await world.pass(5 * MINUTE);
    const { id } = await world.file({ delay: 5 * MINUTE });
    await world.pass(6 * MINUTE);
    world.queues.purge(orders);
    world.pool.hooks.before = (call) => {
      if (isLook(call)) throw new Error("a partition fails");
    };
    for (let i = 0; i < 2 * 60; i++) await world.pass(MINUTE).catch(() => {});
    expect(cursors(world)[0]?.trail.length).toBeLessThan(20);
    delete world.pool.hooks.before;
    world.queues.purge(orders);
    await world.pass(2 * MINUTE);
    expect(world.visible("orders")).toMatchObject([{ id }]);
  });

  it("ticks that have time for only one shard serve the shards in turn", async () => {
    const world = createWorld({ shards: 5 }, { ...SIZES, shards: 1 });
    await world.tick();
    await world.pass(20 * MINUTE, { ticks: false });
    for (let i = 0; i < 5; i++) {
      let isOver = false;
      const shards = new Set<string>();
      world.pool.hooks.before = ({ operation, keys }) => {
        if (operation === "page") shards.add(keys[0]?.pk.split("#")[1] ?? "");
        if (shards.size > 1) isOver = true;
      };
      const clock = (): number => world.now() + (isOver ? MINUTE : 0);
      await tick({ ...world.ctx, clock }, world.now() + MINUTE);
      await world.pass(MINUTE, { ticks: false });
    }
    const behind = cursors(world).map(({ swept }) => world.now() - Number(swept.slice(0, 13)));
    expect(Math.max(...behind)).toBeLessThan(10 * MINUTE);
  });
});
