import { describe, expect, test } from "vitest";
import { READY_RETENTION } from "../../../core/constants.ts";
import { MinutehandError } from "../../../core/errors.ts";
import type { Pause } from "../../../core/items.ts";
import { pausedFor, spansAfter } from "../../../core/pauses.ts";
import { jobJson } from "../../../http/job-json.ts";
import { cancel } from "../../../protocol/change/cancel.ts";
import { pauseTopic } from "../../../protocol/change/pause.ts";
import { reschedule } from "../../../protocol/change/reschedule.ts";
import { resume } from "../../../protocol/hand-over/release.ts";
import { claim } from "../../../protocol/run/claim.ts";
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

describe("what a pause records of earlier pauses", () => {
  const over = (earlier: Pause["earlier"], since: number, changedAt: number): Pause => {
    return { pk: "", sk: "", v: 1, state: "resuming", since, changedAt, ...(earlier && { earlier }) };
  };

  test("is the last twenty spans, of which the first spans all earlier pauses with the time between them", () => {
    let last = over(undefined, 0, 5);
    for (let i = 1; i < 20; i++) last = over(spansAfter(last, i * 10), i * 10, i * 10 + 5);
    expect(pausedFor(last, 0, 300)).toBe(100);
    expect(pausedFor(last, 2, 93)).toBe(46);
    for (let i = 20; i < 23; i++) last = over(spansAfter(last, i * 10), i * 10, i * 10 + 5);
    expect(last.earlier).toHaveLength(20);
    expect(pausedFor(last, 0, 300)).toBe(23 * 5 + 2 * 5);
  });

  test("is, if a topic is paused again during a resume, when consumers had followed that resume, and that it held earlier jobs at its rate", () => {
    const paced = { ...over(undefined, 10, 20), rate: 1, followedAt: 25 };
    expect(spansAfter(paced, 60)).toEqual([
      { since: 10, until: 25 },
      { since: 25, until: 60, startsBefore: 20 },
    ]);
    expect(spansAfter({ ...paced, followedAt: 80 }, 60)).toEqual([{ since: 10, until: 60 }]);
    expect([pausedFor(paced, 5, 60), pausedFor(paced, 19, 60), pausedFor(paced, 20, 60)]).toEqual([
      50, 41, 5,
    ]);
    // The resume has given no starts from `nextAt` on, except those that the next tick may give.
    expect(pausedFor({ ...paced, nextAt: 30 }, 19, HOUR)).toBe(11 + 2 * MINUTE);
    const { rate: _, ...unpaced } = { ...paced, changedAt: 40, liftedAt: 20 };
    expect([pausedFor(unpaced, 19, 60), pausedFor(unpaced, 20, 60)]).toEqual([21, 5]);
  });

  test("has no spans so old that no message of that time is left", () => {
    const last = over([{ since: 0, until: 5 }], 10, 15);
    expect(spansAfter(last, READY_RETENTION + 4)).toHaveLength(2);
    expect(spansAfter(last, READY_RETENTION + 5)).toEqual([{ since: 10, until: 15 }]);
  });

  test("stays stored as long as the ready queue keeps a message", async () => {
    const world = picky();
    await pauseTopic(world.ctx, "skipped");
    await resume(world.ctx, "skipped", undefined);
    await world.pass(12 * MINUTE);
    const item = world.pool.items().find(({ pk }) => pk === "pause#skipped") as Pause;
    expect(item.expiresAt).toBe((START + 10 * MINUTE + READY_RETENTION) / SECOND);
  });
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

  test("is late by the time that it lost before and after a pause", async () => {
    const world = picky();
    const before = await world.file({ topic: "skipped" });
    const during = await world.file({ topic: "skipped", delay: 100 * SECOND });
    await world.pass(30 * SECOND);
    await pauseTopic(world.ctx, "skipped");
    await world.pass(HOUR, { ticks: false });
    await resume(world.ctx, "skipped", undefined);
    await world.pass(61 * SECOND, { ticks: false });
    expect(await consume(world, "skipped")).toEqual([]);
    expect(await world.home(before.id)).toMatchObject({ state: "cancelled", lastError: whyOf(91) });
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

  test("costs a read only when it is late", async () => {
    const world = picky();
    await world.file({ topic: "skipped" });
    const calls = await callsOf(world, () => consume(world, "skipped"));
    expect(calls.filter(isAt("pause#"))).toEqual([]);
  });
});
