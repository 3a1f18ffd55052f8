import { describe, expect, test, vi } from "vitest";
import { DAY } from "../../../src/core/constants.ts";
import { parseOccurrence } from "../../../src/core/occurrence.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { listSchedules } from "../../../src/protocol/file/find-schedule.ts";
import { nextOccurrences } from "../../../src/protocol/file/occurrences.ts";
import {
  fileOccurrence,
  type NewSchedule,
  pauseSchedule,
  putSchedule,
  readSchedule,
  removeSchedule,
  runSchedule,
} from "../../../src/protocol/file/recurring.ts";
import type { ProtocolEvent } from "../../../src/protocol/reports.ts";
import { consume } from "../../support/consume.ts";
import { aimElsewhere } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, START, type World } from "../../support/world.ts";

const NINE = START;
const TEN = NINE + HOUR;
const hourly: NewSchedule = {
  name: "hourly",
  expression: "cron(0 * * * ? *)",
  timezone: "UTC",
  job: { topic: "orders", body: '{"n":1}' },
};
const put = (world: World, more: Partial<NewSchedule> = {}) => putSchedule(world.ctx, { ...hourly, ...more });
const BAD_REQUEST = (rule: string) =>
  expect.objectContaining({ code: "bad-request", message: expect.stringContaining(rule) });
const NOT_FOUND = expect.objectContaining({ code: "schedule-not-found" });

/** Invokes the schedule's target for an occurrence at `time`, as Scheduler does. */
async function comesRound(world: World, name: string, time: number) {
  return fileOccurrence(world.ctx, parseOccurrence(world.schedules.inputOf(name, time)));
}

test("an occurrence that is delivered again from its DLQ days later files no second job", async () => {
  const world = createWorld({ retention: 30 * 86_400 });
  await put(world);
  const time = START + HOUR;
  await world.pass(HOUR);
  const first = await comesRound(world, "hourly", time);
  await consume(world, "orders");
  await world.pass(14 * DAY, { ticks: false });
  const again = await comesRound(world, "hourly", time);
  expect(again).toMatchObject({ outcome: "replayed", home: { id: first.home.id, state: "done" } });
});

test("a repeated run files no second job, though the schedule was given another topic between", async () => {
  const world = createWorld();
  await put(world);
  const once = { token: "k", hash: "h" };
  const first = await runSchedule(world.ctx, "hourly", once);
  await put(world, { job: { ...hourly.job, topic: "precise" } });
  const second = await runSchedule(world.ctx, "hourly", once);
  expect(second).toMatchObject({ outcome: "replayed", home: { id: first.home.id, topic: "orders" } });
});

describe("an occurrence", () => {
  test("is a job due at its time, with all that the schedule says of its jobs", async () => {
    const world = createWorld();
    const headers = { "x-a": "b" };
    const job = { ...hourly.job, headers, expiresAfter: HOUR, maxAttempts: 2, tag: "t", group: "g" };
    await put(world, { job });
    await world.pass(HOUR - 1000);
    const { home, outcome } = await comesRound(world, "hourly", TEN);
    expect(outcome).toBe("created");
    expect(home).toMatchObject({ ...job, dueAt: TEN, wantedAt: TEN });
    await world.pass(1000);
    expect(await consume(world, "orders")).toMatchObject([{ id: home.id, at: TEN }]);
  });

  test("that comes late runs at once", async () => {
    const world = createWorld();
    await put(world);
    await world.pass(HOUR + 5 * MINUTE);
    expect((await comesRound(world, "hourly", TEN)).home.dueAt).toBe(world.now());
  });

  test("that fires twice is one job, though the schedule was changed between", async () => {
    const world = createWorld();
    await put(world);
    const first = await comesRound(world, "hourly", TEN);
    await put(world, { job: { ...hourly.job, body: "2" } });
    const second = await comesRound(world, "hourly", TEN);
    expect(second).toMatchObject({ outcome: "replayed", home: { id: first.home.id, body: '{"n":1}' } });
    expect((await comesRound(world, "hourly", TEN + HOUR)).home.id).not.toBe(first.home.id);
  });

  test("that fires twice is one job, though the schedule was given another topic between", async () => {
    const world = createWorld();
    await put(world);
    const first = await comesRound(world, "hourly", TEN);
    await put(world, { job: { ...hourly.job, topic: "precise" } });
    const second = await comesRound(world, "hourly", TEN);
    expect(second).toMatchObject({ outcome: "replayed", home: { id: first.home.id, topic: "orders" } });
  });

  test("that fires again after its job is done files no second job", async () => {
    const world = createWorld();
    await put(world);
    const { home } = await comesRound(world, "hourly", TEN);
    await world.pass(HOUR);
    await consume(world, "orders");
    expect(await comesRound(world, "hourly", TEN)).toMatchObject({
      outcome: "replayed",
      home: { id: home.id, state: "done" },
    });
  });

  test("of two schedules at one time are two jobs", async () => {
    const world = createWorld();
    await put(world);
    await put(world, { name: "other" });
    const ids = [await comesRound(world, "hourly", TEN), await comesRound(world, "other", TEN)];
    expect(new Set(ids.map(({ home }) => home.id)).size).toBe(2);
  });

  test("has a once token that no caller's Idempotency-Key can equal", async () => {
    const world = createWorld();
    await put(world);
    await comesRound(world, "hourly", TEN);
    const once = world.pool.items().find(({ pk }) => pk.startsWith("once##"));
    expect(once?.pk.slice("once##".length)).not.toMatch(/^[ -~]*$/);
  });

  test("of a removed topic is refused", async () => {
    const world = createWorld();
    await put(world, { job: { ...hourly.job, topic: "gone" } });
    await expect(comesRound(world, "hourly", TEN)).rejects.toMatchObject({ code: "unknown-topic" });
  });

  test("is a job like any other, which may be moved", async () => {
    const world = createWorld();
    await put(world);
    const { home } = await comesRound(world, "hourly", TEN);
    await reschedule(world.ctx, home.id, { dueAt: TEN + DAY });
    expect(await comesRound(world, "hourly", TEN)).toMatchObject({ home: { id: home.id, dueAt: TEN + DAY } });
  });

  const occurrence = { v: 1, name: "a", time: "2026-03-01T10:00:00Z", job: { topic: "orders", body: 1 } };
  test.each([
    null,
    {},
    { v: 2 },
    { ...occurrence, time: "<aws.scheduler.scheduled-time>" },
    ...[-1, 0.5, DAY + 1, "1"].map((spread) => ({ ...occurrence, job: { ...occurrence.job, spread } })),
  ])("with a malformed event is refused: %j", (event) => {
    expect(parseOccurrence(occurrence)).toMatchObject({ time: TEN });
    expect(() => parseOccurrence(event)).toThrow("must be an occurrence of version 1");
  });
});

describe("a schedule that is put", () => {
  test("is created, then replaced in all its fields, and stays paused", async () => {
    const world = createWorld();
    expect(await put(world, { flexibleWindow: 5 * MINUTE, end: NINE + 9 * DAY })).toMatchObject({
      outcome: "created",
      schedule: { paused: false, createdAt: NINE },
    });
    await pauseSchedule(world.ctx, "hourly", true);
    await world.pass(MINUTE, { ticks: false });
    const { outcome, schedule } = await put(world);
    expect(outcome).toBe("replaced");
    expect(schedule).toMatchObject({ paused: true, createdAt: NINE });
    const read = await readSchedule(world.ctx, "hourly");
    expect(read).toEqual(schedule);
    expect(read).not.toHaveProperty("flexibleWindow");
    expect(read).not.toHaveProperty("end");
  });

  test("with unchanged fields is not written, even if its last occurrence is past", async () => {
    const world = createWorld();
    const full = {
      flexibleWindow: HOUR,
      end: TEN,
      job: { topic: "orders", body: '{"b":[1.0e1],"a":"<\\u0041"}', headers: { b: "1", a: "2" }, tag: "t" },
    };
    await put(world, full);
    await world.pass(HOUR + 10 * MINUTE, { ticks: false });
    const update = vi.spyOn(world.schedules, "update");
    const { job, ...rest } = full;
    const turned = { headers: { a: "2", b: "1" }, tag: "t", body: job.body, topic: "orders" };
    expect(await put(world, { job: turned, ...rest })).toMatchObject({ outcome: "replaced" });
    expect(update).not.toHaveBeenCalled();
    expect((await put(world, { ...full, end: TEN + HOUR })).schedule).toMatchObject({ end: TEN + HOUR });
    expect(update).toHaveBeenCalledTimes(1);
  });

  test("with unchanged fields is written if it invokes another function", async () => {
    const world = createWorld();
    await put(world);
    aimElsewhere(world);
    const update = vi.spyOn(world.schedules, "update");
    await put(world);
    expect(update).toHaveBeenCalledTimes(1);
  });

  test("by two callers at once has all fields from one of them", async () => {
    const world = createWorld();
    const outcomes = await Promise.all([put(world), put(world)]);
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["created", "replaced"]);
  });

  test.each<[string, Partial<NewSchedule>, string]>([
    ["no expression", { expression: "hourly" }, "expression must be cron(…), rate(…) or at("],
    ["no time zone", { timezone: "Mars" }, "timezone must be an IANA name"],
    ["a cron that never comes", { expression: "cron(0 0 30 2 ? *)" }, "must have an occurrence after"],
    ["an at that is past", { expression: "at(2026-03-01T09:00:00)" }, "must have an occurrence after"],
    ["an end before the first", { end: TEN - 1 }, "must have an occurrence after"],
    [
      "a start for at",
      { expression: "at(2027-01-01T00:00:00)", start: TEN },
      "start and end must be given for cron and rate only",
    ],
  ])("with %s is refused", async (_, more, rule) => {
    await expect(put(createWorld(), more)).rejects.toEqual(BAD_REQUEST(rule));
  });

  test("is refused when Scheduler cannot keep it, each < counting for six bytes", async () => {
    const world = createWorld();
    const fits = { ...hourly.job, body: JSON.stringify("<".repeat(42_000)) };
    const less = { ...hourly.job, body: JSON.stringify("<".repeat(43_000)) };
    expect(await put(world, { job: fits })).toMatchObject({ outcome: "created" });
    await expect(put(world, { job: less })).rejects.toMatchObject({
      code: "too-large",
      message: expect.stringContaining("256000 bytes (256 KB)"),
    });
  });
});

describe("a rate", () => {
  const rate = { expression: "rate(90 minutes)" };
  const nextOfHourly = async (world: World) =>
    (await nextOccurrences(await readSchedule(world.ctx, "hourly"), world.now(), 2)).map(
      (time) => (time - NINE) / MINUTE,
    );

  test("counts from the minute after it was put, and still does when the same schedule is put again", async () => {
    const world = createWorld();
    await put(world, rate);
    expect(await nextOfHourly(world)).toEqual([1, 91]);
    await world.pass(10 * MINUTE, { ticks: false });
    await put(world, rate);
    expect(await nextOfHourly(world)).toEqual([91, 181]);
    await put(world, { ...rate, flexibleWindow: MINUTE });
    expect(await nextOfHourly(world)).toEqual([91, 181]);
    expect(world.schedules.fromOf("hourly")).toBe(NINE + 91 * MINUTE);
  });

  test("counts anew when it changes to another rate", async () => {
    const world = createWorld();
    await put(world, rate);
    await world.pass(10 * MINUTE, { ticks: false });
    await put(world, { expression: "rate(2 hours)" });
    expect(await nextOfHourly(world)).toEqual([11, 131]);
  });

  test("counts from its start, even if the start is long past when it is put or resumed", async () => {
    const world = createWorld();
    const start = NINE - 30 * MINUTE;
    await put(world, { ...rate, start });
    expect(await nextOfHourly(world)).toEqual([60, 150]);
    expect(world.schedules.fromOf("hourly")).toBe(TEN);
    await pauseSchedule(world.ctx, "hourly", true);
    await world.pass(3 * HOUR, { ticks: false });
    await pauseSchedule(world.ctx, "hourly", false);
    expect(world.schedules.fromOf("hourly")).toBe(NINE + 240 * MINUTE);
    expect(await readSchedule(world.ctx, "hourly")).toMatchObject({ start, anchor: start });
  });
});

describe("a cron", () => {
  test("passes a start to Scheduler only if it lies in the future", async () => {
    const world = createWorld();
    await put(world, { start: NINE + DAY });
    expect(world.schedules.fromOf("hourly")).toBe(NINE + DAY);
    await put(world, { start: NINE - DAY });
    expect(world.schedules.fromOf("hourly")).toBeUndefined();
    expect(await readSchedule(world.ctx, "hourly")).toMatchObject({ start: NINE - DAY });
  });
});

describe("schedules", () => {
  test("can be paused and resumed, and both calls can be repeated", async () => {
    const world = createWorld();
    await put(world);
    for (const paused of [true, true, false, false]) {
      expect(await pauseSchedule(world.ctx, "hourly", paused)).toMatchObject({ paused });
      expect(await readSchedule(world.ctx, "hourly")).toMatchObject({ paused, job: hourly.job });
    }
  });

  test("tell at a resume how many occurrences fell into the pause, and log it", async () => {
    const world = createWorld();
    const told: ProtocolEvent[] = [];
    const report = (event: ProtocolEvent) => void (event.type === "skipped-in-pause" && told.push(event));
    const ctx = { ...world.ctx, report };
    const resume = () => pauseSchedule(ctx, "hourly", false);
    await put(world);
    await world.pass(HOUR, { ticks: false });
    expect(await resume()).not.toHaveProperty("skippedInPause");
    await pauseSchedule(ctx, "hourly", true);
    expect(await resume()).toMatchObject({ paused: false, skippedInPause: 0 });
    expect(told).toEqual([]);
    await pauseSchedule(ctx, "hourly", true);
    await world.pass(3 * HOUR, { ticks: false });
    expect(await resume()).toMatchObject({ paused: false, skippedInPause: 3 });
    expect(told).toEqual([
      { type: "skipped-in-pause", topic: hourly.job.topic, schedule: "hourly", occurrences: 3 },
    ]);
    expect(await resume()).not.toHaveProperty("skippedInPause");
    expect(await readSchedule(ctx, "hourly")).not.toHaveProperty("skippedInPause");
    await pauseSchedule(ctx, "hourly", true);
    await world.pass(60 * DAY, { ticks: false });
    expect(await resume()).toMatchObject({ skippedInPause: 1000 });
  });

  test("run now, once for one Idempotency-Key, paused or not", async () => {
    const world = createWorld();
    await put(world);
    await pauseSchedule(world.ctx, "hourly", true);
    const once = { token: "t", hash: "h" };
    const first = await runSchedule(world.ctx, "hourly", once);
    expect(first.home).toMatchObject({ ...hourly.job, dueAt: world.now() });
    expect(await runSchedule(world.ctx, "hourly", once)).toMatchObject({ outcome: "replayed" });
    expect(await runSchedule(world.ctx, "hourly", undefined)).toMatchObject({ outcome: "created" });
    expect(await consume(world, "orders")).toHaveLength(2);
  });

  test("are listed page by page, except one that is deleted in the meantime", async () => {
    const world = createWorld();
    for (const name of ["a", "b", "c"]) await put(world, { name });
    const first = await listSchedules(world.ctx, 2, undefined);
    expect(first.schedules.map(({ name }) => name)).toEqual(["a", "b"]);
    await removeSchedule(world.ctx, "c");
    expect(await listSchedules(world.ctx, 2, first.cursor)).toEqual({ schedules: [] });
  });

  test("that do not exist are not found", async () => {
    const { ctx } = createWorld();
    const calls = [
      () => readSchedule(ctx, "nobody"),
      () => removeSchedule(ctx, "nobody"),
      () => pauseSchedule(ctx, "nobody", true),
      () => runSchedule(ctx, "nobody", undefined),
    ];
    for (const call of calls) await expect(call()).rejects.toEqual(NOT_FOUND);
  });

  test("can be deleted, and their jobs stay", async () => {
    const world = createWorld();
    await put(world);
    const { home } = await comesRound(world, "hourly", TEN);
    expect(await removeSchedule(world.ctx, "hourly")).toMatchObject({ name: "hourly" });
    await expect(readSchedule(world.ctx, "hourly")).rejects.toEqual(NOT_FOUND);
    expect(await world.home(home.id)).toMatchObject({ state: "scheduled" });
  });
});
