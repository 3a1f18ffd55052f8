import { describe, expect, it } from "vitest";
import { DAY } from "../../../src/core/constants.ts";
import { timelineOf } from "../../../src/core/timeline.ts";
import { beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { runBulk } from "../../../src/protocol/change/bulk.ts";
import { cancelByEvent } from "../../../src/protocol/change/cancel-by-event.ts";
import { dismiss } from "../../../src/protocol/change/dismiss.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { deadJobs } from "../../../src/protocol/read/dead-jobs.ts";
import { consume } from "../../support/consume.ts";
import { callsOf, dead, dlq, isAt, key, meanwhile } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, START, type World } from "../../support/world.ts";

async function listed(world: World): Promise<string[]> {
  const ids = [];
  for await (const { home } of deadJobs(world.ctx, "orders")) ids.push(home.id);
  return ids;
}

const redriveAll = (world: World) => redrive(world.ctx, "orders", { max: 10, delay: 0 });

/** One part of a bulk over all jobs that have died by now. */
async function dismissAll(world: World, more: object = {}) {
  const { ctx } = world;
  // The range ends now, and the time of a death must lie before its end.
  await world.pass(1);
  const bulk = beginBulk(ctx, "dismiss", { from: START - DAY, to: ctx.clock() + DAY });
  return runBulk(ctx, { action: "dismiss", topic: "orders", dryRun: false, ...more }, bulk);
}

describe("a dismissed job", () => {
  it("is cancelled and is listed as dead no more, and the tick removes its letter", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    await world.pass(MINUTE);
    const by = () => ({ kind: "caller", reason: "bad data" }) as const;
    const done = await dismiss({ ...world.ctx, by }, "orders", { ids: [id] });
    expect(done).toEqual({ dismissed: 1, left: 0, refused: [] });
    const home = await world.home(id);
    expect(home).toMatchObject({ state: "cancelled", revision: 0, lastError: "no", finishedAt: world.now() });
    expect(timelineOf(home)).toMatchObject([
      ...[{ what: "filed" }, { what: "sent" }, { what: "claimed" }],
      { what: "dead", at: START, attempt: 1, error: "no" },
      { what: "cancelled", at: world.now(), by: { kind: "caller", reason: "bad data" } },
    ]);
    expect(await listed(world)).toEqual([]);
    expect(world.pool.items().filter(({ pk }) => pk.startsWith("dead#"))).toEqual([]);
    expect(world.queues.messages(dlq)).toHaveLength(1);
    await world.pass(MINUTE);
    expect(world.queues.messages(dlq)).toEqual([]);
    expect(await consume(world, "orders")).toEqual([]);
  });

  it("leaves its key free, also if the key has another job by now", async () => {
    const world = createWorld();
    const { id } = await dead(world, { key });
    await dismiss(world.ctx, "orders", { ids: [id] });
    const next = await world.file({ key, maxAttempts: 1 });
    await consume(world, "orders", { run: () => ({ end: "failed", error: "no" }) });
    const { home } = await enqueue(world.ctx, { topic: "orders", body: "2", dueAt: world.now() + HOUR, key });
    expect(await dismiss(world.ctx, "orders", { ids: [next.id] })).toMatchObject({ dismissed: 1 });
    expect(await world.home(home.id)).toMatchObject({ state: "scheduled" });
    const again = enqueue(world.ctx, { topic: "orders", body: "3", dueAt: world.now() + HOUR, key });
    await expect(again).rejects.toMatchObject({ code: "job-already-exists", data: { id: home.id } });
  });

  it("is deleted no later than it would have been as a dead job", async () => {
    const world = createWorld({ deadRetention: 3600 });
    const { id } = await dead(world);
    const { expiresAt } = await world.home(id);
    await world.pass(MINUTE);
    await dismiss(world.ctx, "orders", { ids: [id] });
    expect(await world.home(id)).toMatchObject({ state: "cancelled", expiresAt });
  });

  it("does not run when SQS's own redrive brings its letter", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    await dismiss(world.ctx, "orders", { ids: [id] });
    world.queues.redriveNatively("orders");
    expect(await consume(world, "orders")).toEqual([]);
    expect(await world.home(id)).toMatchObject({ state: "cancelled" });
  });

  it("counts for a late event as ended when it died", async () => {
    const world = createWorld({ topics: { orders: { cancelledByEvents: true } } });
    const { id } = await dead(world, { key });
    const at = world.now() + HOUR;
    await world.pass(2 * HOUR);
    await dismiss(world.ctx, "orders", { ids: [id] });
    await cancelByEvent(world.ctx, { id: "e1", topic: "orders", key, at, until: at + DAY });
    const { home } = await enqueue(world.ctx, { topic: "orders", body: "2", dueAt: world.now() + HOUR, key });
    expect(home).toMatchObject({ state: "cancelled" });
  });
});

describe("a dismissal", () => {
  it("of a job that is not dead is refused with the reason, and the other jobs are dismissed", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    const waiting = await world.file({ delay: HOUR });
    const other = await world.file({ topic: "precise", delay: HOUR });
    const ids = [waiting.id, id, other.id, id];
    expect(await dismiss(world.ctx, "orders", { ids })).toMatchObject({
      dismissed: 1,
      refused: [
        {
          id: waiting.id,
          error: {
            code: "job-not-dead",
            message: `job ${waiting.id} is scheduled, and only a dead job can be dismissed`,
          },
        },
        { id: other.id, error: { code: "job-not-found" } },
      ],
    });
    expect(await world.home(waiting.id)).toMatchObject({ state: "scheduled" });
  });

  it("can be repeated, also after its write got no answer", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    const change: Context["pool"]["change"] = async (...args) => {
      await world.pool.change(...args);
      return world.pool.change(...args);
    };
    for (const pool of [{ ...world.pool, change }, world.pool])
      expect(await dismiss({ ...world.ctx, pool }, "orders", { ids: [id] })).toEqual({
        ...{ dismissed: 1, left: 0, refused: [] },
      });
    expect(world.pool.items().filter(({ pk }) => pk.startsWith("dead#"))).toEqual([]);
    expect(timelineOf(await world.home(id)).filter(({ what }) => what === "cancelled")).toHaveLength(1);
  });

  it("with a revision dismisses the job only as the caller saw it", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    const asked = { ids: [id], ifMatch: ["7"] };
    await expect(dismiss(world.ctx, "orders", asked)).rejects.toMatchObject({ code: "changed-meanwhile" });
    expect(await world.home(id)).toMatchObject({ state: "dead" });
  });
});

describe("a dismissal and a redrive at once have one winner", () => {
  it("the redrive, if its write is first", async () => {
    const world = createWorld();
    const { id } = await dead(world, { key });
    meanwhile(world, isAt("2026", "change"), () => redriveAll(world));
    expect(await dismiss(world.ctx, "orders", { ids: [id] })).toMatchObject({
      dismissed: 0,
      refused: [{ id, error: { code: "job-not-dead" } }],
    });
    expect(await consume(world, "orders")).toMatchObject([{ id, attempt: 1 }]);
    expect(await world.home(id)).toMatchObject({ state: "done" });
  });

  it("the dismissal, if its write is first", async () => {
    const world = createWorld();
    const { id } = await dead(world, { key });
    meanwhile(
      world,
      ({ operation }) => operation === "transact",
      () => dismiss(world.ctx, "orders", { ids: [id] }),
    );
    expect(await redriveAll(world)).toEqual({ redriven: 0, left: 0 });
    expect(await world.home(id)).toMatchObject({ state: "cancelled", revision: 0 });
    expect(await consume(world, "orders")).toEqual([]);
  });

  it("at each point where one of them can come between the calls of the other", async () => {
    const rounds = 40;
    for (let at = 0; at < rounds; at++) {
      for (const first of ["dismiss", "redrive"] as const) {
        const world = createWorld();
        const { id } = await dead(world, { key });
        const calls = {
          dismiss: () => dismiss(world.ctx, "orders", { ids: [id] }),
          redrive: () => redriveAll(world),
        };
        const second = first === "dismiss" ? "redrive" : "dismiss";
        let count = 0;
        let told: unknown;
        world.pool.hooks.before = async () => {
          if (count++ !== at) return;
          told = await calls[second]();
        };
        const answers = { [first]: await calls[first](), [second]: told ?? (await calls[second]()) };
        delete world.pool.hooks.before;
        const { dismissed } = answers.dismiss as { dismissed: number };
        const { redriven } = answers.redrive as { redriven: number };
        expect(dismissed + redriven, `${first}, ${at}`).toBe(1);
        await world.pass(MINUTE);
        expect(await consume(world, "orders")).toHaveLength(redriven);
        expect(await world.home(id)).toMatchObject({ state: redriven ? "done" : "cancelled" });
      }
    }
  });
});

describe("a bulk that dismisses", () => {
  it("dismisses the dead jobs of its selection, and a repeat finds none", async () => {
    const world = createWorld();
    const tagged = await dead(world, { tag: "sale" });
    const other = await dead(world);
    const waiting = await world.file({ delay: HOUR });
    expect(await dismissAll(world, { dryRun: true })).toMatchObject({ matched: 2, changed: 0 });
    expect(await dismissAll(world, { tag: "sale" })).toMatchObject({ matched: 1, changed: 1, skipped: {} });
    expect(await listed(world)).toEqual([other.id]);
    expect(await dismissAll(world)).toMatchObject({ matched: 1, changed: 1 });
    expect(await dismissAll(world)).toMatchObject({ matched: 0, changed: 0 });
    expect(await world.home(tagged.id)).toMatchObject({ state: "cancelled" });
    expect(await world.home(waiting.id)).toMatchObject({ state: "scheduled" });
  });

  it("skips a job that was redriven since it was read, and says why", async () => {
    const world = createWorld();
    const { id } = await dead(world);
    meanwhile(world, isAt("2026", "change"), () => redriveAll(world));
    expect(await dismissAll(world)).toMatchObject({
      matched: 1,
      changed: 0,
      skipped: { "job-not-dead": 1 },
      errors: [{ id, error: { data: { state: "scheduled" } } }],
    });
  });

  it("costs a write of the home and a delete of the dead entry for each job", async () => {
    const world = createWorld();
    await dead(world);
    const calls = await callsOf(world, () => dismissAll(world));
    expect(calls.map(({ operation }) => operation).filter((one) => one !== "page" && one !== "read")).toEqual(
      ["change", "remove"],
    );
  });
});
