import { describe, expect, it } from "vitest";
import { CLOCK_MARGIN, WRITER_DEADLINE } from "../../src/core/constants.ts";
import { cancel } from "../../src/protocol/change/cancel.ts";
import { reschedule } from "../../src/protocol/change/reschedule.ts";
import { claim } from "../../src/protocol/run/claim.ts";
import { settleDone } from "../../src/protocol/run/settle.ts";
import { consume, crashWhileRunning } from "../support/consume.ts";
import { breakOnce, createWorld, HOUR, MINUTE, SECOND, type World } from "../support/world.ts";

/** One scenario for each fault in which a naive delay queue would lose, double or delay jobs. */
describe("crashes and lost messages", () => {
  const isLook = (call: { keys: readonly { sk: string }[] }): boolean =>
    call.keys.some(({ sk }) => sk.endsWith("#look"));
  const dueJobs = async (world: World, hours = 3): Promise<number> => {
    for (let i = 0; i < hours * 12; i++) {
      await world.pass(5 * MINUTE);
      if ((await consume(world, "orders")).length > 0) return i;
    }
    return -1;
  };

  it("a mover that dies before the home is updated loses nothing", async () => {
    const world = createWorld();
    const job = await world.file({ delay: HOUR });
    breakOnce(world, "before", ({ operation }) => operation === "change");
    await expect(reschedule(world.ctx, job.id, { dueAt: world.now() + 2 * HOUR })).rejects.toThrow();
    await world.pass(HOUR);
    expect(await consume(world, "orders")).toMatchObject([{ revision: 0 }]);
  });

  it("a mover that dies after the home is updated leaves a look that sends the new revision", async () => {
    const world = createWorld();
    const job = await world.file({ delay: HOUR });
    breakOnce(world, "after", ({ operation }) => operation === "change");
    await expect(reschedule(world.ctx, job.id, { dueAt: world.now() + 2 * HOUR })).rejects.toThrow();
    await world.pass(2 * HOUR);
    expect(await consume(world, "orders")).toMatchObject([{ revision: 1 }]);
  });

  it("a mover that dies before it sends is found by the audit", async () => {
    const world = createWorld();
    await world.tick();
    const job = await world.file({ delay: 30 * SECOND });
    breakOnce(world, "after", ({ operation }) => operation === "change");
    await expect(reschedule(world.ctx, job.id, { dueAt: world.now() + 40 * SECOND })).rejects.toThrow();
    await world.pass(2 * MINUTE);
    expect(await consume(world, "orders")).toEqual([]);
    await world.pass(14 * MINUTE);
    expect(await consume(world, "orders")).toMatchObject([{ revision: 1 }]);
  });

  it("a writer that dies after the put is found by the audit", async () => {
    const world = createWorld();
    await world.tick();
    world.queues.hooks.before = ({ operation }) => {
      if (operation === "send") throw new Error("crash");
    };
    breakOnce(world, "before", isLook);
    await expect(world.file({ delay: SECOND })).rejects.toThrow();
    delete world.queues.hooks.before;
    expect(await dueJobs(world)).toBeGreaterThanOrEqual(0);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "audited", found: 1 }));
  });

  it("a writer slower than its deadline gives up instead of writing behind the audit", async () => {
    const world = createWorld();
    const job = await world.file({ delay: HOUR });
    world.pool.hooks.after = async (call) => {
      if (!isLook(call)) return;
      delete world.pool.hooks.after;
      await world.pass(WRITER_DEADLINE, { ticks: false });
    };
    await expect(reschedule(world.ctx, job.id, { dueAt: world.now() + 2 * HOUR })).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(await world.home(job.id)).toMatchObject({ revision: 0 });
  });

  it("the jobs of lost messages and purged queues are sent again, each time", async () => {
    const world = createWorld();
    await world.tick();
    const job = await world.file({ delay: SECOND });
    world.queues.purge({ topic: "orders" });
    for (let i = 0; i < 30 && world.queues.messages({ topic: "orders" }).length === 0; i++)
      await world.pass(MINUTE);
    expect(world.now() - job.dueAt).toBeLessThan(20 * MINUTE);
    world.queues.purge({ topic: "orders" });
    expect(await dueJobs(world)).toBeGreaterThanOrEqual(0);
    expect(await world.home(job.id)).toMatchObject({ state: "done" });
  });

  it("a sweep that dies between sending and its cursor repeats the page, and the job runs once", async () => {
    const world = createWorld({ shards: 1 });
    await world.tick();
    await world.file({ delay: 10 * MINUTE });
    await world.pass(6 * MINUTE);
    const sent = (): boolean => world.queues.messages({ topic: "orders" }).length > 0;
    breakOnce(world, "before", ({ keys }) => keys[0]?.pk === "cursor#0" && sent());
    await expect(world.pass(2 * MINUTE)).rejects.toThrow("crash");
    await world.pass(10 * MINUTE);
    expect(world.queues.messages({ topic: "orders" }).length).toBeGreaterThan(1);
    expect(await consume(world, "orders")).toHaveLength(1);
    expect(await consume(world, "orders")).toEqual([]);
  });

  it("two sweeps at once hand everything over, and each job runs once", async () => {
    const world = createWorld();
    for (let i = 0; i < 20; i++) await world.file({ delay: 10 * MINUTE + i * SECOND });
    await world.pass(9 * MINUTE, { ticks: false });
    await Promise.all([world.tick(), world.tick(), world.tick()]);
    await world.pass(2 * MINUTE);
    const runs = [
      ...(await consume(world, "orders")),
      ...(await consume(world, "orders")),
      ...(await consume(world, "orders")),
    ];
    for (let i = 0; i < 10; i++) runs.push(...(await consume(world, "orders")));
    expect(new Set(runs.map(({ id }) => id)).size).toBe(20);
    expect(runs).toHaveLength(20);
  });

  it("ticks that are missing for a day delay jobs, but lose none", async () => {
    const world = createWorld();
    await world.tick();
    for (let i = 0; i < 10; i++) await world.file({ delay: i * HOUR + 10 * MINUTE });
    await world.pass(24 * HOUR, { ticks: false });
    await world.tick();
    const runs = [];
    for (let i = 0; i < 5; i++) runs.push(...(await consume(world, "orders")));
    expect(runs).toHaveLength(10);
  });

  it("the audit does not send an outage's backlog a second time", async () => {
    const world = createWorld();
    await world.tick();
    await world.file({ delay: HOUR });
    await world.pass(10 * HOUR, { ticks: false });
    await world.tick();
    await world.pass(5 * MINUTE);
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
  });

  it("a crashed run counts as a failed attempt and comes back by its backoff", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    expect(await crashWhileRunning(world, "orders")).toHaveLength(1);
    expect(await world.home(job.id)).toMatchObject({ state: "running" });
    await world.pass(61 * SECOND);
    expect(await consume(world, "orders")).toEqual([]);
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", attempt: 1, revision: 1 });
    await world.pass(23 * SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ attempt: 2 }]);
  });

  it("a duplicate that meets a live lease is left alone and does not run", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    await crashWhileRunning(world, "orders");
    const [message] = world.queues.messages({ topic: "orders" });
    world.queues.duplicate({ topic: "orders" }, message?.id ?? "");
    expect(await consume(world, "orders")).toEqual([]);
    expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
    expect(await world.home(job.id)).toMatchObject({ state: "running" });
  });

  it("a lease counts as live until the margin past its end, by any reader's clock", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    await crashWhileRunning(world, "orders");
    const { leaseEnd = 0 } = await world.home(job.id);
    await world.pass(leaseEnd + CLOCK_MARGIN - 1 - world.now());
    await expect(cancel(world.ctx, job.id)).rejects.toMatchObject({ code: "job-running" });
    await expect(reschedule(world.ctx, job.id, { body: "1" })).rejects.toMatchObject({ code: "job-running" });
    await world.pass(1);
    expect(await cancel(world.ctx, job.id)).toMatchObject({ state: "cancelled" });
  });

  it("a settle needs the token of the claim, and recognises its own repeat", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 0 });
    const message = {
      id: job.id,
      revision: 0,
      attempt: 1,
      dueAt: new Date(job.dueAt).toISOString(),
      body: {},
    };
    const [verdict] = await (await claim(world.ctx, "orders", [message], world.now() + 30_000)).rest;
    if (verdict?.verdict !== "claimed") throw new Error("not claimed");
    const held = { id: job.id, topic: "orders", attempt: 1, token: verdict.token };
    const by = world.now() + MINUTE;
    expect(await settleDone(world.ctx, [{ ...held, token: "another" }], by)).toEqual(["lost"]);
    expect(await settleDone(world.ctx, [held], by)).toEqual(["settled"]);
    expect(await settleDone(world.ctx, [held], by)).toEqual(["settled"]);
  });

  it("a job that SQS refuses for now gets a look after the sweep's limit, and other jobs are sent", async () => {
    const world = createWorld();
    const held = await world.file({ delay: 10 * MINUTE });
    const other = await world.file({ topic: "precise", delay: 10 * MINUTE });
    await world.pass(6 * MINUTE);
    world.queues.trouble({ topic: "orders" }, "failing");
    await world.pass(2 * MINUTE);
    expect(world.queues.messages({ topic: "precise" })).toHaveLength(1);
    world.queues.trouble({ topic: "orders" }, undefined);
    await world.pass(3 * MINUTE);
    expect((await consume(world, "precise")).map(({ id }) => id)).toEqual([other.id]);
    expect((await consume(world, "orders")).map(({ id }) => id)).toEqual([held.id]);
  });

  it("when SQS as a whole is unreachable the cursor stays before the first unsent job", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * MINUTE });
    await world.pass(6 * MINUTE);
    world.queues.trouble("all", "unreachable");
    await world.pass(30 * MINUTE).catch(() => {});
    await world.pass(30 * MINUTE, { ticks: false });
    world.queues.trouble("all", undefined);
    await world.tick();
    expect(await consume(world, "orders")).toHaveLength(1);
  });

  it("a writer whose message SQS refuses for now answers, and a look sends it later", async () => {
    const world = createWorld();
    await world.tick();
    world.queues.trouble({ topic: "orders" }, "failing");
    const job = await world.file({ delay: SECOND });
    world.queues.trouble({ topic: "orders" }, undefined);
    await world.pass(6 * MINUTE);
    expect((await consume(world, "orders")).map(({ id }) => id)).toEqual([job.id]);
  });

  it("a message that SQS never takes makes its job dead, with the reason", async () => {
    const world = createWorld();
    const job = await world.file({ delay: 10 * MINUTE });
    world.queues.trouble({ topic: "orders" }, "missing");
    await world.pass(11 * MINUTE);
    expect(await world.home(job.id)).toMatchObject({
      state: "dead",
      lastError: expect.stringContaining("missing"),
    });
  });

  it("a crash cannot use up attempts of other jobs in its pack: each is claimed just before it runs", async () => {
    const world = createWorld();
    for (let i = 0; i < 10; i++) await world.file({ delay: HOUR });
    await world.pass(HOUR);
    const started = await crashWhileRunning(world, "orders");
    await world.pass(2 * MINUTE);
    const runs = [];
    for (let i = 0; i < 10; i++) {
      runs.push(...(await consume(world, "orders")));
      await world.pass(MINUTE);
    }
    expect(runs).toHaveLength(10);
    const burnt = runs.filter(({ attempt }) => attempt === 2);
    expect(burnt.length).toBe(started.length);
  });

  it("a queue that fails for hours does not multiply the looks at its jobs", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * MINUTE });
    world.queues.trouble({ topic: "orders" }, "failing");
    await world.pass(12 * HOUR);
    const looks = world.pool.items().filter(({ sk }) => sk.endsWith("#look"));
    const ahead = looks.filter(({ sk }) => Number(sk.slice(0, 13)) > world.now());
    expect(ahead.length).toBeGreaterThanOrEqual(1);
    // About four an hour: those of the sweeps, and those of the audits.
    expect(looks.length).toBeLessThan(48);
  });

  it("one queue that does not answer at all does not stop the others", async () => {
    const world = createWorld();
    await world.file({ delay: 10 * MINUTE });
    const other = await world.file({ topic: "precise", delay: 14 * MINUTE });
    world.queues.trouble({ topic: "orders" }, "unreachable");
    await world.pass(14 * MINUTE);
    expect((await consume(world, "precise")).map(({ id }) => id)).toEqual([other.id]);
  });
});
