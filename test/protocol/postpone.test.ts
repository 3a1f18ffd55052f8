import { describe, expect, it } from "vitest";
import { reschedule } from "../../protocol/reschedule.ts";
import { consume, crashWhileRunning } from "./consume.ts";
import { fail, isLook, key, meanwhile } from "./scenes.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, START, type World } from "./world.ts";

const BOUND = START + HOUR;
const postpone = (world: World, more: object = {}) =>
  world.fileAll({ key, onDuplicate: "postpone", delay: 10 * MINUTE, maxDelay: HOUR, ...more });
const pass = (world: World, ms: number) => world.pass(ms, { ticks: false });

describe("a job that is postponed", () => {
  it("is filed at first, with the bound of its first enqueue", async () => {
    const world = createWorld();
    const { outcome, home } = await postpone(world);
    expect(outcome).toBe("created");
    expect(home).toMatchObject({ dueAt: START + 10 * MINUTE, postponeUntil: BOUND, revision: 0 });
    expect(await world.home(home.id)).toEqual(home);
  });

  it("is due by its bound though it was filed for later", async () => {
    const world = createWorld();
    expect((await postpone(world, { delay: 2 * HOUR })).home).toMatchObject({
      dueAt: BOUND,
      wantedAt: BOUND,
    });
  });

  it("is put off with the newest body and options, and all attempts, until nobody calls for so long", async () => {
    const world = createWorld();
    const first = (await postpone(world, { tag: "old", maxAttempts: 2 })).home;
    await pass(world, 5 * MINUTE);
    const { outcome, home } = await postpone(world, { body: '"new"', group: "g" });
    expect(outcome).toBe("postponed");
    expect(home).toMatchObject({
      id: first.id,
      body: '"new"',
      group: "g",
      dueAt: START + 15 * MINUTE,
      wantedAt: START + 15 * MINUTE,
      revision: 1,
      postponeUntil: BOUND,
    });
    expect(home).not.toHaveProperty("tag");
    expect(home).not.toHaveProperty("maxAttempts");
    await world.pass(10 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, revision: 1, at: home.dueAt }]);
  });

  it("is put off no further than the first bound, whatever later calls allow, and runs there once", async () => {
    const world = createWorld();
    await postpone(world);
    for (let i = 1; i < 12; i++) {
      await pass(world, 5 * MINUTE);
      const { home } = await postpone(world, { maxDelay: 24 * HOUR });
      expect(home).toMatchObject({ dueAt: Math.min(world.now() + 10 * MINUTE, BOUND), postponeUntil: BOUND });
    }
    await world.pass(5 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ at: BOUND, attempt: 1 }]);
    expect((await postpone(world)).outcome).toBe("created");
  });

  it("comes earlier when it is asked to", async () => {
    const world = createWorld();
    await postpone(world, { delay: 30 * MINUTE });
    expect((await postpone(world, { delay: MINUTE })).home).toMatchObject({ dueAt: START + MINUTE });
  });

  it("runs now when its bound is over, with all attempts again", async () => {
    const world = createWorld();
    await postpone(world, { delay: 0, maxDelay: MINUTE });
    for (const backoff of [15, 180]) {
      await consume(world, "orders", { run: fail });
      await pass(world, backoff * SECOND - SECOND);
    }
    const { home } = await postpone(world, { maxDelay: HOUR });
    expect(home).toMatchObject({
      dueAt: world.now(),
      attempt: 0,
      restarts: 1,
      postponeUntil: START + MINUTE,
    });
    expect(await consume(world, "orders")).toMatchObject([{ attempt: 1 }]);
  });

  it("is refused while it runs", async () => {
    const world = createWorld();
    await postpone(world, { delay: 0 });
    await crashWhileRunning(world, "orders");
    await expect(postpone(world)).rejects.toMatchObject({ code: "job-running" });
  });

  it("is bounded by when it was filed if it was filed otherwise", async () => {
    const world = createWorld();
    await world.file({ key, delay: 10 * MINUTE });
    await pass(world, 5 * MINUTE);
    expect((await postpone(world, { delay: 2 * HOUR })).home).toMatchObject({
      dueAt: BOUND,
      postponeUntil: BOUND,
    });
  });

  it("is bounded by when it was replaced last, as that has ended its bound", async () => {
    const world = createWorld();
    await postpone(world);
    await pass(world, MINUTE);
    await world.file({ key, delay: HOUR, onDuplicate: "replace" });
    await pass(world, 40 * MINUTE);
    expect((await postpone(world)).home).toMatchObject({
      dueAt: START + 51 * MINUTE,
      postponeUntil: START + MINUTE + (BOUND - START),
    });
  });

  it("has no bound any more when it is replaced, and keeps it when it is moved", async () => {
    const world = createWorld();
    const { home } = await postpone(world);
    expect(await reschedule(world.ctx, home.id, { dueAt: START + 2 * HOUR })).toMatchObject({
      dueAt: START + 2 * HOUR,
      postponeUntil: BOUND,
    });
    const replaced = await world.file({ key, delay: HOUR, onDuplicate: "replace" });
    expect(replaced).not.toHaveProperty("postponeUntil");
    expect(await world.home(home.id)).toEqual(replaced);
  });

  it("gets and loses its promoting schedule as it moves", async () => {
    const world = createWorld({ longDelay: 7200 });
    const far = { delay: 3 * HOUR, maxDelay: 24 * HOUR };
    const { home } = await postpone(world, { maxDelay: 24 * HOUR });
    expect(world.promotions.filed.size).toBe(0);
    await postpone(world, far);
    expect([...world.promotions.filed.keys()]).toEqual([home.id]);
    await postpone(world);
    expect(world.promotions.filed.size).toBe(0);
  });
});

describe("a call that postpones", () => {
  const once = { token: "t", hash: "h" };

  it("is answered again with the job as it is, and puts nothing off", async () => {
    const world = createWorld();
    const first = await postpone(world);
    await pass(world, 5 * MINUTE);
    await postpone(world, { once });
    await pass(world, 2 * MINUTE);
    expect(await postpone(world, { once })).toMatchObject({
      outcome: "replayed",
      home: { id: first.home.id, dueAt: START + 15 * MINUTE, revision: 1 },
    });
  });

  it("whose answer is lost is applied once", async () => {
    const world = createWorld();
    await postpone(world);
    breakOnce(world, "after", ({ operation }) => operation === "transact");
    expect(await postpone(world, { once, delay: 20 * MINUTE })).toMatchObject({
      outcome: "replayed",
      home: { revision: 1, dueAt: START + 20 * MINUTE },
    });
  });

  it("that dies after the look leaves the job where it was", async () => {
    const world = createWorld();
    const { home } = await postpone(world);
    breakOnce(world, "after", isLook);
    await expect(postpone(world, { delay: 20 * MINUTE })).rejects.toThrow("crash");
    await world.pass(10 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, revision: 0 }]);
  });

  it("while another postpones goes on from where that one left the job", async () => {
    const world = createWorld();
    await postpone(world);
    meanwhile(world, isLook, () => postpone(world, { body: '"theirs"', delay: 30 * MINUTE }));
    expect((await postpone(world, { body: '"ours"' })).home).toMatchObject({
      body: '"ours"',
      dueAt: START + 10 * MINUTE,
      revision: 2,
      postponeUntil: BOUND,
    });
  });
});
