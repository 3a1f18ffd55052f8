import { describe, expect, test } from "vitest";
import { DAY } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { cancel } from "../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../src/protocol/change/pause.ts";
import { enqueue } from "../../src/protocol/file/enqueue.ts";
import { resume } from "../../src/protocol/hand-over/release.ts";
import { tick } from "../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../src/protocol/ports.ts";
import { receive } from "../../src/protocol/run/pull.ts";
import { settlePulled } from "../../src/protocol/run/settle-pulled.ts";
import type { TopicPolicy } from "../../src/settings/policy.ts";
import { consume } from "../support/consume.ts";
import { fail } from "../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../support/world.ts";

const BACKOFF = { backoff: { waits: [15] } };

/** A world whose topic `t` has the settings `before`, and a context with the settings of the next deployment. */
function changing(before: Partial<TopicPolicy>, after: Partial<TopicPolicy>): { world: World; ctx: Context } {
  const world = createWorld({ topics: { t: { ...BACKOFF, ...before } } });
  const policy = { ...world.ctx.policy, topics: { t: { ...BACKOFF, ...after } } };
  return { world, ctx: { ...world.ctx, policy } };
}

/** Lets time pass, with ticks of the new deployment. */
async function pass(world: World, ctx: Context, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= MINUTE) {
    await world.pass(Math.min(left, MINUTE), { ticks: false });
    await tick(ctx, world.now() + MINUTE);
  }
}

const letters = (world: World) => world.queues.messages({ topic: "t", dead: true });
const pullAll = (world: World, ctx: Context) => receive(ctx, "t", { max: 10, waitSeconds: 0 }, world.timers);

describe("a topic that becomes tracked", () => {
  test("keeps the dead letters of its untracked jobs", async () => {
    const { world, ctx } = changing({ tracking: "none" }, {});
    await world.tick();
    await world.file({ topic: "t", maxAttempts: 1 });
    await world.file({ topic: "t", maxAttempts: 1, delay: 10 * MINUTE });
    await world.pass(10 * MINUTE);
    await consume(world, "t", { run: fail });
    expect(letters(world)).toHaveLength(2);
    await pass(world, ctx, 5 * MINUTE);
    expect(letters(world)).toHaveLength(2);
    world.queues.redriveNatively("t");
    expect(await consume(world, "t", { ctx })).toHaveLength(2);
  });

  test("runs its untracked jobs, stored or not, and their retries", async () => {
    const { world, ctx } = changing({ tracking: "none" }, {});
    await world.tick();
    const stored = await world.file({ topic: "t", delay: 20 * MINUTE });
    await world.pass(19 * MINUTE);
    await world.file({ topic: "t", delay: MINUTE });
    await pass(world, ctx, MINUTE);
    expect(await consume(world, "t", { ctx, run: fail })).toHaveLength(2);
    await world.pass(15 * SECOND);
    expect(await consume(world, "t", { ctx })).toMatchObject([{ attempt: 2 }, { attempt: 2 }]);
    await pass(world, ctx, HOUR);
    expect(await consume(world, "t", { ctx })).toEqual([]);
    expect(await world.home(stored.id)).toMatchObject({ state: "scheduled", revision: 0 });
  });

  test("runs a job whose first call died before it sent the job, when the request is repeated", async () => {
    const { world, ctx } = changing({ tracking: "none" }, {});
    await world.tick();
    const job = { topic: "t", body: "1", dueAt: world.now(), once: { token: "k", hash: "h" } };
    const send = () => Promise.reject(new Error("died"));
    const dying = { ...world.ctx, queues: { ...world.ctx.queues, send } };
    await expect(enqueue(dying, job)).rejects.toMatchObject({ code: "unavailable" });
    const { outcome, home } = await enqueue(ctx, job);
    expect(outcome).toBe("created");
    expect(await world.home(home.id)).not.toHaveProperty("untracked");
    expect(await enqueue(ctx, job)).toMatchObject({ outcome: "replayed", home: { id: home.id } });
    expect(await consume(world, "t", { ctx })).toMatchObject([{ id: home.id }]);
  });

  test("hands out untracked jobs, and accepts their receipts", async () => {
    const { world, ctx } = changing({ tracking: "none", consumer: "pull" }, { consumer: "pull" });
    await world.file({ topic: "t" });
    await world.file({ topic: "t" });
    const [first] = await receive(world.ctx, "t", { max: 1, waitSeconds: 0 }, world.timers);
    await settlePulled(ctx, "t", first?.receipt ?? "", { end: "done" });
    const [second] = await pullAll(world, ctx);
    await settlePulled(ctx, "t", second?.receipt ?? "", { end: "done" });
    expect(world.queues.messages({ topic: "t" })).toEqual([]);
  });

  test("drops messages of a tracked job that is done and not stored any more", async () => {
    const { world, ctx } = changing({}, {});
    const job = await world.file({ topic: "t" });
    const [message] = world.queues.messages({ topic: "t" });
    await consume(world, "t");
    await world.pool.remove([job], world.now() + MINUTE);
    await world.pass(8 * DAY, { ticks: false });
    await world.queues.send({ topic: "t" }, [{ body: message?.body ?? "", delaySeconds: 0 }]);
    expect(await consume(world, "t", { ctx })).toEqual([]);
    expect(world.queues.messages({ topic: "t" })).toEqual([]);
  });
});

test("a cancelled job does not run when its home is gone and a deploy has raised the retention since", async () => {
  const world = createWorld({ retention: DAY / SECOND, topics: { t: BACKOFF } });
  const job = await world.file({ topic: "t" });
  await cancel(world.ctx, job.id);
  await world.pass(2 * DAY, { ticks: false });
  await world.pool.remove([job], world.now() + MINUTE);
  const ctx = { ...world.ctx, policy: { ...world.ctx.policy, retention: (7 * DAY) / SECOND } };
  expect(await consume(world, "t", { ctx })).toEqual([]);
  expect(world.events).toContainEqual({ type: "dropped", topic: "t", id: job.id, reason: "gone" });
  expect(world.queues.messages({ topic: "t" })).toEqual([]);
});

test("a writer that freezes for longer than its job is kept does not make it run again", async () => {
  const world = createWorld({ topics: { t: BACKOFF } });
  const job = await world.file({ topic: "t" });
  const [message] = world.queues.messages({ topic: "t" });
  await consume(world, "t");
  await world.pool.remove([job], world.now() + MINUTE);
  await world.pass(8 * DAY, { ticks: false });
  const sentAt = new Date(world.now()).toISOString();
  const body = (message?.body ?? "").replace(/"sentAt":"[^"]*"/, `"sentAt":"${sentAt}"`);
  expect(body).toContain(sentAt);
  await world.queues.send({ topic: "t" }, [{ body, delaySeconds: 0 }]);
  expect(await consume(world, "t")).toEqual([]);
});

describe("a topic that becomes untracked", () => {
  test("runs each tracked job once, and settles it", async () => {
    const { world, ctx } = changing({}, { tracking: "none" });
    await world.tick();
    const near = await world.file({ topic: "t" });
    const far = await world.file({ topic: "t", delay: 10 * MINUTE });
    const ids: string[] = [];
    for (let i = 0; i < 90; i++) {
      await pass(world, ctx, MINUTE);
      ids.push(...(await consume(world, "t", { ctx })).map(({ id }) => id));
    }
    expect(ids).toEqual([near.id, far.id]);
    expect([await world.home(near.id), await world.home(far.id)]).toMatchObject([
      { state: "done" },
      { state: "done" },
    ]);
  });

  test("accepts the receipts of tracked jobs", async () => {
    const { world, ctx } = changing({ consumer: "pull" }, { consumer: "pull", tracking: "none" });
    const { id } = await world.file({ topic: "t" });
    const [job] = await pullAll(world, world.ctx);
    await settlePulled(ctx, "t", job?.receipt ?? "", { end: "done" });
    expect(await world.home(id)).toMatchObject({ state: "done" });
  });
});

describe("a topic that is pulled from now on", () => {
  test.each(["full", "none"] as const)(
    "loses no job of a message of many (tracking %s)",
    async (tracking) => {
      const { world, ctx } = changing({ tracking }, { tracking, consumer: "pull" });
      await world.tick();
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push((await world.file({ topic: "t", delay: 10 * MINUTE })).id);
      await world.pass(10 * MINUTE);
      expect(world.queues.messages({ topic: "t" }).length).toBeLessThan(5);
      const pulled: string[] = [];
      for (let i = 0; i < 5; i++) {
        for (const job of await pullAll(world, ctx)) {
          pulled.push(job.id);
          await settlePulled(ctx, "t", job.receipt, { end: "done" });
        }
      }
      expect(pulled.sort()).toEqual(ids.sort());
      expect(world.queues.messages({ topic: "t" })).toEqual([]);
    },
  );
});

describe("a topic that gets a consumer of its own instead of pullers", () => {
  test.each<[string, Partial<TopicPolicy>]>([
    ["tracked", {}],
    ["untracked", { tracking: "none" }],
  ])("refuses their receipts, and runs their jobs again when the leases have ended: %s", async (_, kind) => {
    const { world, ctx } = changing({ ...kind, consumer: "pull" }, { ...kind, consumer: "lambda" });
    await world.file({ topic: "t" });
    const [pulled] = await pullAll(world, world.ctx);
    await expect(settlePulled(ctx, "t", pulled?.receipt ?? "", { end: "done" })).rejects.toMatchObject({
      code: "not-a-pull-topic",
    });
    const runs = [];
    for (let minute = 0; minute < 5; minute++) {
      await pass(world, ctx, MINUTE);
      runs.push(...(await consume(world, "t", { ctx })));
    }
    expect(runs).toMatchObject([{ id: pulled?.id, attempt: kind.tracking === "none" ? 1 : 2 }]);
  });
});

test("a paused topic that becomes untracked is resumed with its parked jobs, and its pause holds no untracked job", async () => {
  const { world, ctx } = changing({ maxPerSecond: 1 }, { tracking: "none" });
  await world.tick();
  await pauseTopic(world.ctx, "t");
  const parked = [await world.file({ topic: "t" }), await world.file({ topic: "t", delay: 10 * MINUTE })];
  await pass(world, ctx, 10 * MINUTE);
  expect(await consume(world, "t", { ctx })).toEqual([]);
  const { home } = await enqueue(ctx, { topic: "t", body: "1", dueAt: world.now() + 5 * MINUTE });
  await pass(world, ctx, 5 * MINUTE);
  expect(await consume(world, "t", { ctx })).toMatchObject([{ id: home.id }]);
  await resume(ctx, "t", undefined);
  await pass(world, ctx, MINUTE);
  const runs = await consume(world, "t", { ctx });
  expect(runs.map(({ id }) => id).sort()).toEqual(parked.map(({ id }) => id).sort());
  for (const { id } of parked) expect(await world.home(id)).toMatchObject({ state: "done" });
});

test("an untracked job with the attributes of an earlier version is swept, and runs", async () => {
  const { world, ctx } = changing({ tracking: "none" }, { tracking: "none" });
  await world.tick();
  const job = await world.file({ topic: "t", delay: 20 * MINUTE });
  const { dueAt } = job;
  const held = {
    heldFrom: dueAt,
    heldUntil: dueAt + MINUTE,
    sentFor: dueAt + MINUTE,
    uncounted: 0,
    inTimeAt: dueAt,
  };
  world.pool.put({ ...job, ...held } as Home);
  await pass(world, ctx, 22 * MINUTE);
  expect(await consume(world, "t", { ctx })).toMatchObject([{ id: job.id }]);
});
