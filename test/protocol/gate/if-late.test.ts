import { describe, expect, test } from "vitest";
import { READY_RETENTION } from "../../../src/core/constants.ts";
import { MinutehandError } from "../../../src/core/errors.ts";
import type { Pause } from "../../../src/core/items.ts";
import { jobJson } from "../../../src/http/job-json.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import { claim } from "../../../src/protocol/run/claim.ts";
import { consume, crashWhileRunning } from "../../support/consume.ts";
import { callsOf, fail, isAt, key, messageFor, pull } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const picky = (): World =>
  createWorld({
    topics: {
      skipped: { ifLate: { after: 60, do: "skip" } },
      expired: { ifLate: { after: 60, do: "expire" } },
      pulled: { ifLate: { after: 60, do: "skip" }, consumer: "pull" },
      limited: { ifLate: { after: 1, do: "skip" }, maxPerSecond: 1, consumer: "pull" },
      windowed: { ifLate: { after: 1, do: "skip" }, window: "10:00-09:00 UTC" },
    },
  });
const whyOf = (seconds: number): string =>
  `it would have started ${seconds} s late, and its topic allows 60 s`;

test("the item of a pause stays as long as the ready queue keeps a message", async () => {
  const world = picky();
  await pauseTopic(world.ctx, "skipped");
  await resume(world.ctx, "skipped", undefined);
  await world.pass(12 * MINUTE);
  const item = world.pool.items().find(({ pk }) => pk === "pause#skipped") as Pause;
  expect(item.expiresAt).toBe((START + 10 * MINUTE + READY_RETENTION) / SECOND);
});

describe("a job that comes late to its start", () => {
  test.each([
    ["skipped", "cancelled"],
    ["expired", "expired"],
  ])("is %s, says why, and frees its key", async (topic, state) => {
    const world = picky();
    const job = await world.file({ topic, key });
    const inTime = await world.file({ topic, delay: MINUTE });
    await world.pass(60.5 * SECOND, { ticks: false });
    expect(await consume(world, topic)).toMatchObject([{ id: inTime.id }]);
    const home = await world.home(job.id);
    expect(home).toMatchObject({ state, lastError: whyOf(60.5), finishedAt: world.now(), attempt: 0 });
    expect(home.expiresAt).toBe(Math.ceil((world.now() + 7 * 24 * HOUR) / SECOND));
    expect(jobJson(world.ctx, home).timeline.at(-1)).toMatchObject({ event: state, error: whyOf(60.5) });
    expect(world.events).toContainEqual({ type: topic, topic, id: job.id });
    expect(world.queues.messages({ topic })).toEqual([]);
    const named = world.pool.items().find(({ pk }) => pk === `key#${topic}#${key}`);
    expect(named).toMatchObject({ id: job.id, expiresAt: home.expiresAt });
    expect(await world.file({ topic, key })).not.toMatchObject({ id: job.id });
  });

  test("is skipped by its topic in the timeline, too, if the message does not say when it was sent", async () => {
    const world = picky();
    const job = await world.file({ topic: "skipped" });
    await world.pass(61 * SECOND, { ticks: false });
    await claim(world.ctx, "skipped", [messageFor(job)], world.now() + MINUTE);
    const { timeline } = jobJson(world.ctx, await world.home(job.id));
    expect(timeline.at(-1)).toMatchObject({ event: "cancelled", by: { kind: "topic" }, error: whyOf(61) });
  });

  test("runs when it is as late as allowed, to the ms", async () => {
    const world = picky();
    const job = await world.file({ topic: "skipped" });
    await world.pass(60 * SECOND, { ticks: false });
    expect(await consume(world, "skipped")).toMatchObject([{ id: job.id }]);
  });

  test("is skipped or expired when it is pulled, too", async () => {
    const world = picky();
    const job = await world.file({ topic: "pulled" });
    await world.pass(2 * MINUTE, { ticks: false });
    expect(await pull(world, "pulled")).toEqual([]);
    expect(await world.home(job.id)).toMatchObject({ state: "cancelled" });
  });

  test("is judged in each attempt, by that attempt's due time", async () => {
    const world = picky();
    const job = await world.file({ topic: "skipped" });
    await consume(world, "skipped", { run: fail });
    await world.pass(75 * SECOND, { ticks: false });
    expect(await consume(world, "skipped")).toMatchObject([{ attempt: 2 }]);
    const other = await world.file({ topic: "skipped" });
    await consume(world, "skipped", { run: fail });
    await world.pass(76 * SECOND, { ticks: false });
    expect(await consume(world, "skipped")).toEqual([]);
    expect(await world.home(other.id)).toMatchObject({
      state: "cancelled",
      attempt: 1,
      lastError: whyOf(61),
    });
    expect(await world.home(job.id)).toMatchObject({ state: "done" });
  });

  test("because of a limit or a window does not count as late", async () => {
    const world = picky();
    await Promise.all([1, 2, 3, 4, 5].map(() => world.file({ topic: "limited" })));
    let pulled = 0;
    for (let second = 0; second < 6; second++) {
      pulled += (await pull(world, "limited")).length;
      await world.pass(SECOND);
    }
    expect(pulled).toBe(5);
    const held = await world.file({ topic: "windowed" });
    await world.pass(HOUR - 6 * SECOND);
    expect(await consume(world, "windowed")).toMatchObject([{ id: held.id }]);
  });

  test("because of a pause does not count as late, whether it was parked or its message was in the queue", async () => {
    for (const [filed, ticks] of [
      [10 * MINUTE, undefined],
      [0, false as const],
    ] as const) {
      const world = picky();
      const job = await world.file({ topic: "skipped", delay: filed });
      await world.pass(30 * SECOND);
      await pauseTopic(world.ctx, "skipped");
      await world.pass(HOUR, ticks === undefined ? {} : { ticks });
      await resume(world.ctx, "skipped", undefined);
      await world.pass(25 * SECOND, { ticks: false });
      expect(await consume(world, "skipped")).toMatchObject([{ id: job.id }]);
    }
  });

  test("because of a pause does not count as late when the topic is paused again before the resume is over", async () => {
    const world = picky();
    const { id } = await world.file({ topic: "skipped", delay: 10 * SECOND });
    for (const paused of [HOUR, SECOND]) {
      await pauseTopic(world.ctx, "skipped");
      await world.pass(paused, { ticks: false });
      await resume(world.ctx, "skipped", undefined);
    }
    expect(await consume(world, "skipped")).toMatchObject([{ id }]);
  });

  test("because of two pauses does not count as late, whether the resume of the first is over or not", async () => {
    for (const between of [MINUTE, 12 * MINUTE]) {
      const world = createWorld({ topics: { skipped: { ifLate: { after: 1800, do: "skip" } } } });
      const { id } = await world.file({ topic: "skipped", delay: 10 * SECOND });
      for (const paused of [45 * MINUTE, 2 * MINUTE]) {
        await pauseTopic(world.ctx, "skipped");
        await world.pass(paused, { ticks: false });
        await resume(world.ctx, "skipped", undefined);
        await world.pass(between);
      }
      const over = world.pool.items().find(({ pk }) => pk === "pause#skipped") as Pause;
      expect(over.expiresAt === undefined).toBe(between === MINUTE);
      expect(await consume(world, "skipped")).toMatchObject([{ id }]);
    }
  });

  test("is late since the end of its topic's last pause", async () => {
    const world = picky();
    const before = await world.file({ topic: "skipped" });
    const during = await world.file({ topic: "skipped", delay: 100 * SECOND });
    await world.pass(30 * SECOND);
    await pauseTopic(world.ctx, "skipped");
    await world.pass(HOUR, { ticks: false });
    await resume(world.ctx, "skipped", undefined);
    await world.pass(61 * SECOND, { ticks: false });
    expect(await consume(world, "skipped")).toEqual([]);
    expect(await world.home(before.id)).toMatchObject({ state: "cancelled", lastError: whyOf(61) });
    expect(await world.home(during.id)).toMatchObject({ state: "cancelled", lastError: whyOf(61) });
  });

  test("is late by its wait after a resume at a rate, however long that resume takes", async () => {
    const world = picky();
    await pauseTopic(world.ctx, "skipped");
    await world.pass(MINUTE);
    await resume(world.ctx, "skipped", 1);
    await world.pass(20 * SECOND);
    const { id } = await world.file({ topic: "skipped", delay: 10 * SECOND });
    const rateNow = () => (world.pool.items().find(({ pk }) => pk === "pause#skipped") as Pause).rate;
    while (rateNow() !== undefined) await world.pass(30 * SECOND);
    expect(await consume(world, "skipped")).toEqual([]);
    expect(await world.home(id)).toMatchObject({ state: "cancelled", attempt: 0 });
  });

  test("is left as it is if it was moved or cancelled, or runs, in the meantime", async () => {
    const world = picky();
    const [moved, gone, running] = await Promise.all(
      [1, 2, 3].map((group) => world.file({ topic: "skipped", group: `${group}` })),
    );
    if (!moved || !gone || !running) throw new Error("not filed");
    await reschedule(world.ctx, moved.id, { dueAt: START + HOUR });
    await cancel(world.ctx, gone.id);
    await crashWhileRunning(world, "skipped", 5 * MINUTE);
    await world.pass(2 * MINUTE, { ticks: false });
    const { rest } = await claim(
      world.ctx,
      "skipped",
      [moved, gone, running].map(messageFor),
      world.now() + MINUTE,
    );
    expect(await rest).toMatchObject([{ verdict: "void" }, { verdict: "void" }, { verdict: "left" }]);
    expect(await world.home(moved.id)).toMatchObject({ state: "scheduled", revision: 1 });
    expect(await world.home(gone.id)).not.toHaveProperty("lastError");
    expect(await world.home(running.id)).toMatchObject({ state: "running" });
  });

  test("does not run if it is unknown whether its end was written, and its message comes again", async () => {
    for (const where of ["before", "after"] as const) {
      const world = picky();
      const job = await world.file({ topic: "skipped" });
      await world.pass(2 * MINUTE, { ticks: false });
      const judge = async () =>
        (await claim(world.ctx, "skipped", [messageFor(job)], world.now() + MINUTE)).rest;
      world.pool.hooks[where] = ({ operation }) => {
        if (operation !== "changeMany") return;
        delete world.pool.hooks[where];
        throw new MinutehandError("unavailable", "no answer");
      };
      expect(await judge()).toMatchObject([{ verdict: "left" }]);
      expect(await judge()).toMatchObject([{ verdict: "void" }]);
      expect(await world.home(job.id)).toMatchObject({ state: "cancelled" });
    }
  });

  test("is judged by the pause that the claim has read in any case", async () => {
    const world = picky();
    await world.file({ topic: "skipped" });
    await world.pass(2 * MINUTE, { ticks: false });
    const calls = await callsOf(world, () => consume(world, "skipped"));
    expect(calls.filter(isAt("pause#"))).toHaveLength(1);
  });
});
