import { describe, expect, it } from "vitest";
import { DAY, ENTRIES_A_PAGE, PAGE_BYTES } from "../../../src/core/constants.ts";
import { deadKey, homeKey, ttl } from "../../../src/core/item-keys.ts";
import { ITEM_VERSION } from "../../../src/core/items.ts";
import { drawJobId } from "../../../src/core/job-id.ts";
import { BEGINNING, type Position } from "../../../src/core/position.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { deadJobs, deadPage } from "../../../src/protocol/read/dead-jobs.ts";
import { consume } from "../../support/consume.ts";
import { callsOf, isAt, meanwhile } from "../../support/scenes.ts";
import {
  breakAll,
  breakOnce,
  createWorld,
  HOUR,
  MINUTE,
  SECOND,
  START,
  type World,
} from "../../support/world.ts";

/** Lets all visible jobs fail. */
const failAll = async (world: World): Promise<void> => {
  while ((await consume(world, "orders", { run: fail })).length > 0);
};
const fail = (): { end: "failed"; error: string } => ({ end: "failed", error: "no such bank" });

async function die(world: World, count = 1): Promise<string[]> {
  const ids = [];
  for (let i = 0; i < count; i++) {
    ids.push((await world.file({ maxAttempts: 1 })).id);
    await consume(world, "orders", { run: fail });
    await world.pass(1);
  }
  return ids;
}

/** Jobs that died at one time. */
async function putDead(world: World, count: number, more: (index: number) => object): Promise<void> {
  const run = { token: "t", claimedAt: START, leaseEnd: START + MINUTE };
  const end = { state: "dead", finishedAt: START, expiresAt: ttl(START + DAY) } as const;
  const home = { ...(await world.file({ delay: HOUR })), ...run, ...end };
  for (let i = 0; i < count; i++) {
    const id = drawJobId(START, 1, (count) =>
      new Uint8Array(count)
        .fill(i % 32)
        .fill(i >> 5, 3, 5)
        .fill(i >> 10, 6, 8),
    );
    world.pool.put({ ...home, ...homeKey(id), id, ...more(i) });
    world.pool.put({ ...deadKey("orders", START, id), v: ITEM_VERSION, id, revision: 0, expiresAt: 0 });
  }
}

async function deadIds(world: World): Promise<string[]> {
  const ids = [];
  for await (const { home } of deadJobs(world.ctx, "orders")) ids.push(home.id);
  return ids;
}

describe("dead jobs", () => {
  it("a dead job is listed with its error, and its envelope lies in the DLQ", async () => {
    const world = createWorld();
    const ids = await die(world, 3);
    expect(await deadIds(world)).toEqual(ids);
    const [letter] = world.queues.messages({ topic: "orders", dead: true });
    expect(JSON.parse(letter?.body ?? "")).toMatchObject({
      dead: true,
      error: "no such bank",
      topic: "orders",
    });
  });

  it("if a process dies after it sent a job's envelope, the job is not dead until its lease has ended", async () => {
    const world = createWorld();
    const job = await world.file({ maxAttempts: 1 });
    // The process dies here, so each of its tries ends here.
    world.pool.hooks.before = ({ keys }) => {
      if (keys[0]?.pk.startsWith("dead#")) throw new Error("crash");
    };
    await consume(world, "orders", { run: fail });
    expect(world.queues.messages({ topic: "orders", dead: true }).length).toBeGreaterThanOrEqual(1);
    expect(await world.home(job.id)).toMatchObject({ state: "running" });
    delete world.pool.hooks.before;
    for (let i = 0; i < 5; i++) {
      await world.pass(MINUTE);
      await consume(world, "orders", { run: fail });
    }
    expect(await world.home(job.id)).toMatchObject({ state: "dead", attempt: 1 });
    expect(await deadIds(world)).toEqual([job.id]);
  });

  it("a buried job is dead, however many attempts are left", async () => {
    const world = createWorld();
    const job = await world.file({});
    await consume(world, "orders", { run: () => ({ end: "buried", error: "closed account" }) });
    expect(await world.home(job.id)).toMatchObject({
      state: "dead",
      attempt: 1,
      lastError: "closed account",
    });
  });

  it("redrive runs it again with a full set of attempts, and its dead letter goes", async () => {
    const world = createWorld();
    const [id] = await die(world);
    await world.pass(MINUTE);
    expect(await redrive(world.ctx, "orders", { max: 10, delay: 0 })).toEqual({ redriven: 1, left: 0 });
    expect(await deadIds(world)).toEqual([]);
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1 }]);
    expect(await world.home(id ?? "")).toMatchObject({ state: "done" });
    expect(world.queues.messages({ topic: "orders", dead: true })).toHaveLength(1);
    await world.pass(MINUTE);
    expect(world.queues.messages({ topic: "orders", dead: true })).toEqual([]);
  });

  it("redrive takes the oldest jobs first, at most `max`, with a delay, and at its rate", async () => {
    const world = createWorld();
    const ids = await die(world, 4);
    const start = world.now() + HOUR;
    expect(await redrive(world.ctx, "orders", { max: 3, delay: HOUR, ratePerSecond: 2 })).toEqual({
      redriven: 3,
      left: 1,
    });
    const due = await Promise.all(ids.slice(0, 3).map(async (id) => (await world.home(id)).dueAt));
    expect(due).toEqual([start, start + 500, start + SECOND]);
    expect(await deadIds(world)).toEqual(ids.slice(3));
  });

  it("redrive of named jobs refuses one that is not the topic's", async () => {
    const world = createWorld();
    const other = await world.file({ topic: "precise", delay: HOUR });
    await expect(redrive(world.ctx, "orders", { ids: [other.id], max: 1, delay: 0 })).rejects.toMatchObject({
      code: "job-not-found",
    });
  });

  it("the tick leaves the letters of dead jobs in the DLQ, visible", async () => {
    const world = createWorld();
    await die(world, 3);
    await world.pass(5 * MINUTE);
    const letters = world.queues.messages({ topic: "orders", dead: true });
    expect(letters).toHaveLength(3);
    expect(letters.every(({ visibleAt }) => visibleAt <= world.now())).toBe(true);
  });

  it("SQS's own redrive redrives the job", async () => {
    const world = createWorld();
    const [id] = await die(world);
    world.queues.redriveNatively("orders");
    expect(await consume(world, "orders")).toEqual([]);
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1, revision: 1 }]);
    expect(await deadIds(world)).toEqual([]);
  });

  it("in SQS's own redrive are found by a tick when the consumer of the letter died before it sent the job", async () => {
    const world = createWorld();
    const [id = ""] = await die(world);
    world.queues.redriveNatively("orders");
    breakOnce(
      world,
      "after",
      ({ operation, keys }) => operation === "change" && keys[0]?.sk.endsWith(id) === true,
    );
    expect(await consume(world, "orders")).toEqual([]);
    expect(await world.home(id)).toMatchObject({ state: "scheduled", revision: 1 });
    await world.pass(2 * MINUTE, { ticks: false });
    // The letter comes again, and is deleted.
    expect(await consume(world, "orders")).toEqual([]);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    await world.pass(16 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1, revision: 1 }]);
  });

  it("SQS's own redrive of a letter leaves alone a job that is due far ahead, or runs", async () => {
    const world = createWorld();
    const [far = "", running = ""] = await die(world, 2);
    await redrive(world.ctx, "orders", { ids: [far], max: 1, delay: HOUR });
    await redrive(world.ctx, "orders", { ids: [running], max: 1, delay: 0 });
    await consume(world, "orders", {
      run: async () => {
        world.queues.redriveNatively("orders");
        expect(await consume(world, "orders")).toEqual([]);
        return { end: "done" };
      },
    });
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    expect(world.queues.messages({ topic: "orders", dead: true })).toEqual([]);
  });

  it("SQS's own redrive of a letter whose job is not marked as dead yet redrives the job later", async () => {
    const world = createWorld();
    const { id } = await world.file({ maxAttempts: 1 });
    const isMarked = isAt("dead#", "insert");
    meanwhile(world, isMarked, async () => {
      world.queues.redriveNatively("orders");
      expect(await consume(world, "orders")).toEqual([]);
    });
    await consume(world, "orders", { run: fail });
    expect(await world.home(id)).toMatchObject({ state: "dead" });
    await world.pass(2 * MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1, revision: 1 }]);
  });

  it("SQS's own redrive of a job whose key now belongs to another job returns the envelope to the DLQ", async () => {
    const world = createWorld();
    const old = await world.file({ maxAttempts: 1, key: "order-1" });
    await consume(world, "orders", { run: fail });
    const taken = await world.file({ key: "order-1", delay: HOUR });
    world.queues.redriveNatively("orders");
    expect(await consume(world, "orders")).toEqual([]);
    expect(world.queues.messages({ topic: "orders" })).toEqual([]);
    const [letter] = world.queues.messages({ topic: "orders", dead: true });
    expect(JSON.parse(letter?.body ?? "{}")).toMatchObject({
      dead: true,
      error: fail().error,
      jobs: [{ id: old.id }],
    });
    expect(await world.home(old.id)).toMatchObject({ state: "dead" });
    expect(await world.home(taken.id)).toMatchObject({ state: "scheduled" });
  });

  it.each([3, 500])("a redrive of the oldest %i skips jobs with keys of other jobs", async (max) => {
    const world = createWorld();
    for (let i = 0; i < 120; i++) await world.file({ maxAttempts: 1, key: `order-${i}` });
    await failAll(world);
    for (let i = 0; i < 120; i++) await world.file({ key: `order-${i}`, delay: HOUR });
    const free = [
      await world.file({ maxAttempts: 1 }),
      await world.file({ maxAttempts: 1, key: "order-last" }),
    ];
    await failAll(world);
    expect(await redrive(world.ctx, "orders", { max, delay: 0 })).toEqual({ redriven: 2, left: 120 });
    for (const { id } of free)
      expect(await world.home(id)).toMatchObject({ state: "scheduled", revision: 1 });
  });

  it("of a pack, only the job that SQS refuses for good dies, and the others run", async () => {
    const world = createWorld();
    const delay = 5 * MINUTE;
    const bad = await world.file({ delay, body: '"unwanted"' });
    const mates = [await world.file({ delay }), await world.file({ delay })];
    const send = world.queues.send;
    world.queues.send = async (queue, messages) => {
      const good = messages.filter(({ body }) => !body.includes("unwanted"));
      const sent = await send(queue, good);
      return messages.map(
        (message) => sent[good.indexOf(message)] ?? { outcome: "refused", reason: "InvalidMessageContents" },
      );
    };
    await world.pass(delay);
    expect((await consume(world, "orders")).map(({ id }) => id).sort()).toEqual(
      mates.map(({ id }) => id).sort(),
    );
    expect(await world.home(bad.id)).toMatchObject({
      state: "dead",
      lastError: expect.stringContaining("InvalidMessageContents"),
    });
  });

  it("a page of the dead jobs with a tag ends after so many entries, and the next page continues after them", async () => {
    const world = createWorld();
    await putDead(world, ENTRIES_A_PAGE + 1, (i) => (i === ENTRIES_A_PAGE ? { tag: "spring" } : {}));
    const asked = { topic: "orders", tag: "spring", limit: 10 };
    const { homes, examined, cursor = BEGINNING } = await deadPage(world.ctx, asked);
    const rest = await deadPage(world.ctx, { ...asked, cursor });
    expect(examined).toBe(ENTRIES_A_PAGE);
    expect(rest).toMatchObject({ examined: 1 });
    expect([...homes, ...rest.homes]).toHaveLength(1);
  });

  it("a page ends after so many bytes, of bodies or of other attributes", async () => {
    const large = { body: "x".repeat(150_000), headers: { h: "x".repeat(150_000) } };
    for (const name of ["body", "headers"] as const) {
      const world = createWorld();
      await putDead(world, 40, () => ({ [name]: large[name] }));
      const asked = { topic: "orders", limit: 1000 };
      const { homes, cursor = BEGINNING } = await deadPage(world.ctx, asked);
      expect(JSON.stringify(homes).length).toBeLessThan(1.05 * PAGE_BYTES);
      const rest = await deadPage(world.ctx, { ...asked, cursor });
      expect(homes.length + rest.homes.length).toBe(40);
    }
  });

  it("a job counts as dead no longer than its deadRetention, even if TTL has not deleted it yet", async () => {
    const world = createWorld({ deadRetention: 14 * 86_400 });
    const [id = ""] = await die(world);
    await world.pass(14 * DAY - MINUTE, { ticks: false });
    expect(await deadIds(world)).toEqual([id]);
    await world.pass(2 * MINUTE, { ticks: false });
    expect(await redrive(world.ctx, "orders", { max: 10, delay: 0 })).toEqual({ redriven: 0, left: 0 });
    expect((await deadPage(world.ctx, { topic: "orders", limit: 10 })).homes).toEqual([]);
    expect(await world.home(id)).toMatchObject({ state: "dead" });
  });

  it("entries past their retention are not read repeatedly while TTL is late", async () => {
    const world = createWorld({ deadRetention: 14 * 86_400 });
    await putDead(world, 5000, () => ({ expiresAt: (START + 14 * DAY) / 1000 }));
    await world.pass(14 * DAY + 2 * SECOND, { ticks: false });
    for (const act of [
      () => deadPage(world.ctx, { topic: "orders", limit: 10 }),
      () => redrive(world.ctx, "orders", { max: 10, delay: 0 }),
    ]) {
      const calls = await callsOf(world, act);
      expect(calls.flatMap(({ operation, keys }) => (operation === "read" ? keys : []))).toEqual([]);
    }
  });

  it("a page ends after so many entries, even if TTL has deleted their jobs first", async () => {
    const world = createWorld();
    await putDead(world, ENTRIES_A_PAGE + 1, () => ({}));
    const homes = world.pool.items().filter((item) => "state" in item && item.state === "dead");
    await world.ctx.pool.remove(homes, world.now() + MINUTE);
    const { cursor = BEGINNING, ...page } = await deadPage(world.ctx, { topic: "orders", limit: 10 });
    expect(page).toMatchObject({ homes: [], examined: 0 });
    expect(cursor).not.toBe(BEGINNING);
    const rest = await deadPage(world.ctx, { topic: "orders", limit: 10, cursor });
    expect(rest).toMatchObject({ homes: [] });
    expect(rest).not.toHaveProperty("cursor");
  });

  it("a page ends after so many entries, even if their jobs are not dead any more", async () => {
    const world = createWorld();
    await putDead(world, 3 * ENTRIES_A_PAGE, (index) => ({ state: index % 6 === 0 ? "dead" : "done" }));
    let cursor: Position | undefined;
    const found: number[] = [];
    do {
      const page = await deadPage(world.ctx, { topic: "orders", limit: 1000, ...(cursor && { cursor }) });
      found.push(page.homes.length);
      cursor = page.cursor;
    } while (cursor);
    expect(found).toHaveLength(3);
    expect(found.reduce((sum, count) => sum + count)).toBe(1000);
  });

  it("a job redriven and dead again is listed once", async () => {
    const world = createWorld();
    const [id] = await die(world);
    await world.pass(SECOND);
    await redrive(world.ctx, "orders", { max: 1, delay: 0 });
    await consume(world, "orders", { run: fail });
    expect(await deadIds(world)).toEqual([id]);
  });
});

it("a redrive with an Idempotency-Key notes no choice from which it left jobs out because their keys cannot be read", async () => {
  const world = createWorld();
  for (const key of ["a", "b"]) await world.file({ key, maxAttempts: 1 });
  await failAll(world);
  const request = { max: 10, delay: 0, call: { key: "k", request: "r" } };
  const mend = breakAll(world, "before", isAt("key#", "read"));
  await expect(redrive(world.ctx, "orders", request)).rejects.toThrow();
  mend();
  expect(await redrive(world.ctx, "orders", request)).toEqual({ redriven: 2, left: 0 });
});
