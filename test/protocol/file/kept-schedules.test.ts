import { describe, expect, test, vi } from "vitest";
import { MinutehandError } from "../../../src/core/errors.ts";
import { RECURRING } from "../../../src/core/item-keys.ts";
import { parseOccurrence, type Schedule } from "../../../src/core/occurrence.ts";
import { listSchedules } from "../../../src/protocol/file/find-schedule.ts";
import { keepSchedules } from "../../../src/protocol/file/keep-schedules.ts";
import {
  fileOccurrence,
  type NewSchedule,
  pauseSchedule,
  putSchedule,
  readSchedule,
  removeSchedule,
  runSchedule,
} from "../../../src/protocol/file/recurring.ts";
import { aimElsewhere } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, START, type World } from "../../support/world.ts";

const hourly: NewSchedule = {
  name: "hourly",
  expression: "cron(0 * * * ? *)",
  timezone: "UTC",
  job: { topic: "orders", body: '{"n":1}' },
};
const other: NewSchedule = { ...hourly, job: { ...hourly.job, body: '{"n":2}' } };
const inScheduler: Schedule = { ...hourly, anchor: START, createdAt: START, paused: false };
const NOT_FOUND = expect.objectContaining({ code: "schedule-not-found" });
const DOWN = new MinutehandError("unavailable", "Scheduler is down");
const REFUSED = new MinutehandError("bad-request", "Scheduler refuses it");

const itemsOf = (world: World) => world.pool.items().filter(({ pk }) => pk === RECURRING);
const namesOf = async (world: World) =>
  (await listSchedules(world.ctx, 100, undefined)).schedules.map(({ name }) => name);
const bodyInScheduler = async (world: World) => (await world.schedules.read("hourly"))?.schedule.job.body;

/** Passes to the next hour's minute in which the tick compares the schedules, and compares them. */
async function compare(world: World): Promise<void> {
  const sinceHour = world.now() % HOUR;
  await world.pass((sinceHour < 23 * MINUTE ? 0 : HOUR) + 23 * MINUTE - sinceHour, { ticks: false });
  await keepSchedules(world.ctx, world.now() + MINUTE);
}

/** Calls `act` while Scheduler fails, and expects the call to fail. */
async function whileDown(world: World, act: () => Promise<unknown>, error = DOWN): Promise<void> {
  const { create, update, remove } = world.schedules;
  const fail = async () => {
    throw error;
  };
  Object.assign(world.schedules, { create: fail, update: fail, remove: fail });
  await expect(act()).rejects.toEqual(error);
  Object.assign(world.schedules, { create, update, remove });
}

describe("a schedule whose copy in Scheduler is lost", () => {
  test("is still read, listed, paused and run", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await world.schedules.remove("hourly");
    expect(await readSchedule(world.ctx, "hourly")).toMatchObject({ name: "hourly", job: hourly.job });
    expect(await namesOf(world)).toEqual(["hourly"]);
    expect((await runSchedule(world.ctx, "hourly", undefined)).outcome).toBe("created");
    expect(await pauseSchedule(world.ctx, "hourly", true)).toMatchObject({ paused: true });
    expect((await world.schedules.read("hourly"))?.schedule).toMatchObject({ paused: true });
  });

  test("gets its copy again within an hour, with the same times", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, { ...hourly, expression: "rate(90 minutes)" });
    await world.schedules.remove("hourly");
    await world.pass(2 * HOUR, { ticks: false });
    await compare(world);
    expect((await world.schedules.read("hourly"))?.schedule).toEqual(await readSchedule(world.ctx, "hourly"));
    expect(world.schedules.fromOf("hourly")).toBe(START + MINUTE + 180 * MINUTE);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", what: expect.stringContaining("schedule hourly") }),
    );
  });

  test("gets its copy again by the same PUT", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await world.schedules.remove("hourly");
    expect(await putSchedule(world.ctx, hourly)).toMatchObject({ outcome: "replaced" });
    expect(await bodyInScheduler(world)).toBe('{"n":1}');
  });

  test("gets none if it never occurs again", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, { ...hourly, end: START + HOUR });
    await world.schedules.remove("hourly");
    await world.pass(2 * HOUR, { ticks: false });
    await compare(world);
    expect(await world.schedules.read("hourly")).toBeUndefined();
    expect(world.events.filter(({ type }) => type === "trouble")).toEqual([]);
  });
});

describe("a call that stores a schedule and then fails in Scheduler", () => {
  test.each<[string, (world: World) => Promise<void>]>([
    ["a repeat", async (world) => void (await putSchedule(world.ctx, hourly))],
    ["the tick", compare],
  ])("to create it, is completed by %s", async (_, complete) => {
    const world = createWorld();
    await whileDown(world, () => putSchedule(world.ctx, hourly));
    expect(await namesOf(world)).toEqual(["hourly"]);
    await complete(world);
    expect(await bodyInScheduler(world)).toBe('{"n":1}');
  });

  test.each<[string, (world: World) => Promise<void>]>([
    ["a repeat", async (world) => void (await pauseSchedule(world.ctx, "hourly", true))],
    ["the tick", compare],
  ])("to pause it, is completed by %s", async (_, complete) => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await whileDown(world, () => pauseSchedule(world.ctx, "hourly", true));
    await complete(world);
    expect((await world.schedules.read("hourly"))?.schedule.paused).toBe(true);
  });

  test.each<[string, (world: World) => Promise<void>]>([
    [
      "a repeat",
      async ({ ctx }) => expect(await removeSchedule(ctx, "hourly")).toMatchObject({ name: "hourly" }),
    ],
    ["the tick", compare],
  ])("to delete it, is completed by %s, and its body is gone", async (_, complete) => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await whileDown(world, () => removeSchedule(world.ctx, "hourly"));
    await expect(readSchedule(world.ctx, "hourly")).rejects.toEqual(NOT_FOUND);
    expect(await namesOf(world)).toEqual([]);
    await complete(world);
    expect(await world.schedules.read("hourly")).toBeUndefined();
    expect(JSON.stringify(itemsOf(world))).not.toContain("orders");
    await expect(removeSchedule(world.ctx, "hourly")).rejects.toEqual(NOT_FOUND);
  });

  test("because Scheduler refuses the schedule, leaves no schedule, or the former one", async () => {
    const world = createWorld();
    await whileDown(world, () => putSchedule(world.ctx, hourly), REFUSED);
    await expect(readSchedule(world.ctx, "hourly")).rejects.toEqual(NOT_FOUND);
    await putSchedule(world.ctx, hourly);
    await whileDown(world, () => putSchedule(world.ctx, other), REFUSED);
    expect((await readSchedule(world.ctx, "hourly")).job.body).toBe('{"n":1}');
  });
});

describe("a change within a minute after an occurrence", () => {
  const TEN = START + HOUR;
  const change: Record<string, (world: World) => Promise<unknown>> = {
    "a PUT": ({ ctx }) => putSchedule(ctx, { ...other, expression: "cron(30 * * * ? *)" }),
    "a pause": ({ ctx }) => pauseSchedule(ctx, "hourly", true),
    "a removal": ({ ctx }) => removeSchedule(ctx, "hourly"),
  };
  const missedTimes = ({ events }: World) =>
    events.flatMap((event) => (event.type === "missed" ? [event.times] : []));
  const jobsOf = (world: World) => world.pool.items().flatMap((item) => ("body" in item ? [item] : []));
  async function afterTen(more: Partial<NewSchedule> = {}): Promise<World> {
    const world = createWorld();
    await putSchedule(world.ctx, { ...hourly, ...more });
    await world.pass(HOUR + 20_000, { ticks: false });
    return world;
  }

  test.each(Object.entries(change))(
    "files its job, by %s, and Scheduler's firing files no second one",
    async (_, act) => {
      const world = await afterTen();
      const fired = parseOccurrence(world.schedules.inputOf("hourly", TEN));
      await act(world);
      expect(jobsOf(world)).toMatchObject([{ body: '{"n":1}', wantedAt: TEN }]);
      expect(await fileOccurrence(world.ctx, fired)).toMatchObject({ outcome: "replayed" });
    },
  );

  test("files those of its flexibleWindow, and no more than the last 25", async () => {
    const world = await afterTen({ expression: "cron(* * * * ? *)", flexibleWindow: 10 * MINUTE });
    await pauseSchedule(world.ctx, "hourly", true);
    expect(jobsOf(world)).toHaveLength(12);
    const wide = await afterTen({ expression: "cron(* * * * ? *)", flexibleWindow: HOUR });
    await pauseSchedule(wide.ctx, "hourly", true);
    expect(jobsOf(wide)).toHaveLength(25);
  });

  test("is made although only a newer version can read the expression", async () => {
    const world = createWorld();
    await world.schedules.create({ ...inScheduler, expression: "moon(full)" }, undefined);
    await compare(world);
    expect(await removeSchedule(world.ctx, "hourly")).toMatchObject({ expression: "moon(full)" });
    expect(await namesOf(world)).toEqual([]);
  });

  test.each(Object.entries(change))(
    "%s reports what was missed before the last two minutes, once",
    async (_, act) => {
      const world = await afterTen();
      await world.pass(10 * MINUTE, { ticks: false });
      await act(world);
      await compare(world);
      expect(jobsOf(world)).toEqual([]);
      expect(missedTimes(world)).toEqual([[TEN]]);
    },
  );

  test("reports those of its flexibleWindow that are more than the last 25", async () => {
    const world = await afterTen({ expression: "cron(* * * * ? *)", flexibleWindow: HOUR });
    await pauseSchedule(world.ctx, "hourly", true);
    const times = Array.from({ length: 35 }, (_, minute) => START + (minute + 1) * MINUTE);
    expect(missedTimes(world)).toEqual([times]);
  });

  test("reports nothing that a comparison has reported", async () => {
    const world = await afterTen();
    await compare(world);
    await pauseSchedule(world.ctx, "hourly", true);
    expect(missedTimes(world)).toEqual([[TEN]]);
  });

  test("of a schedule that only Scheduler has files nothing from before Scheduler's last change of it", async () => {
    const world = createWorld();
    const wide = { ...inScheduler, flexibleWindow: 6 * HOUR };
    await world.schedules.create({ ...wide, paused: true }, undefined);
    await world.pass(2 * HOUR, { ticks: false });
    await world.schedules.update(wide, undefined);
    await world.pass(5 * MINUTE, { ticks: false });
    await putSchedule(world.ctx, other);
    expect(jobsOf(world)).toEqual([]);
  });

  test("files nothing if the schedule was paused, is as it was, was changed since, or has an untracked topic", async () => {
    const world = await afterTen();
    await putSchedule(world.ctx, hourly);
    expect(jobsOf(world)).toEqual([]);
    const changed = await afterTen();
    await pauseSchedule(changed.ctx, "hourly", true);
    await removeSchedule(changed.ctx, "hourly");
    expect(jobsOf(changed)).toHaveLength(1);
    const loose = await afterTen({ job: { topic: "events", body: "1" } });
    await removeSchedule(loose.ctx, "hourly");
    expect(jobsOf(loose)).toEqual([]);
  });

  test("is made, and reports the occurrence, if a deployment has removed the topic; it is not made if the job cannot be filed now", async () => {
    const world = await afterTen({ job: { topic: "gone", body: "1" } });
    await putSchedule(world.ctx, hourly);
    expect(world.events).toContainEqual({ type: "missed", topic: "gone", schedule: "hourly", times: [TEN] });
    const down = await afterTen();
    down.pool.hooks.before = ({ keys }) => {
      if (keys.some(({ pk }) => pk.startsWith("once#"))) throw DOWN;
    };
    await expect(putSchedule(down.ctx, other)).rejects.toMatchObject({ code: "unavailable" });
    expect((await readSchedule(down.ctx, "hourly")).job.body).toBe('{"n":1}');
  });
});

describe("an occurrence that is not filed within a quarter of an hour", () => {
  const TEN = START + HOUR;
  const missed = ({ events }: World) => events.flatMap((event) => (event.type === "missed" ? [event] : []));
  const fire = (world: World, time: number) =>
    fileOccurrence(world.ctx, { name: "hourly", time, job: hourly.job });

  test("is reported once, with its schedule and its time", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await world.pass(HOUR, { ticks: false });
    await compare(world);
    expect(missed(world)).toEqual([{ type: "missed", topic: "orders", schedule: "hourly", times: [TEN] }]);
    await fire(world, TEN + HOUR);
    await compare(world);
    await compare(world);
    expect(missed(world).map(({ times }) => times)).toEqual([[TEN], [TEN + 2 * HOUR]]);
  });

  test("is reported a day later at most, if no tick has compared before", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await compare(world);
    await world.pass(30 * HOUR, { ticks: false });
    await compare(world);
    expect(missed(world).map(({ times }) => times.length)).toEqual([24]);
  });

  test("is reported an hour later if it could not be read before", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await world.pass(HOUR, { ticks: false });
    world.pool.hooks.before = ({ keys }) => {
      if (keys.some(({ pk }) => pk.startsWith("once#"))) throw DOWN;
    };
    await compare(world);
    world.pool.hooks.before = () => {};
    await fire(world, TEN + HOUR);
    await compare(world);
    expect(missed(world).map(({ times }) => times)).toEqual([[TEN]]);
  });

  test("is reported once, although only a newer version can read the expression of another schedule", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    await world.schedules.create({ ...inScheduler, name: "lunar", expression: "moon(full)" }, undefined);
    await compare(world);
    for (let hours = 0; hours < 4; hours++) {
      await compare(world);
      await fire(world, TEN + (hours + 1) * HOUR);
    }
    expect(missed(world).map(({ times }) => times)).toEqual([[TEN]]);
    const what = "checking the occurrences of schedule lunar";
    expect(world.events).toContainEqual(expect.objectContaining({ type: "trouble", what }));
  });

  test("is reported once, although the occurrences of another schedule cannot be read for some hours", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    const b = { ...hourly, name: "b", job: { ...hourly.job, body: '{"n":3}' } };
    await putSchedule(world.ctx, b);
    await world.pass(HOUR, { ticks: false });
    const { read } = world.pool;
    world.pool.read = async (keys) => {
      if (keys.some(({ pk }) => pk.includes("§b§"))) throw DOWN;
      return read(keys);
    };
    await compare(world);
    await compare(world);
    world.pool.read = read;
    await compare(world);
    const times = [TEN];
    expect(missed(world).filter((one) => one.times.includes(TEN))).toEqual([
      { type: "missed", topic: "orders", schedule: "b", times },
      { type: "missed", topic: "orders", schedule: "hourly", times },
    ]);
  });

  test("is reported for a schedule of an earlier version, which the tick stores in the table", async () => {
    const world = createWorld();
    await world.schedules.create(inScheduler, undefined);
    await world.pass(HOUR, { ticks: false });
    await compare(world);
    await compare(world);
    expect(missed(world).map(({ times }) => times)).toEqual([[TEN], [TEN + HOUR]]);
  });

  test("is not reported before its flexibleWindow is over, nor if it came in a pause or before the schedule was changed", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, { ...hourly, flexibleWindow: 30 * MINUTE });
    await world.pass(HOUR, { ticks: false });
    await compare(world);
    expect(missed(world)).toEqual([]);
    await pauseSchedule(world.ctx, "hourly", true);
    await compare(world);
    await pauseSchedule(world.ctx, "hourly", false);
    await compare(world);
    expect(missed(world)).toEqual([]);
    await compare(world);
    expect(missed(world).map(({ times }) => times)).toEqual([[TEN + 2 * HOUR]]);
  });

  test("is reported for a declared schedule too, but not for an untracked topic", async () => {
    const world = createWorld();
    await world.schedules.create({ ...inScheduler, declared: "Shop/Jobs" }, undefined);
    await putSchedule(world.ctx, { ...hourly, name: "loose", job: { topic: "events", body: "1" } });
    await world.pass(HOUR, { ticks: false });
    await compare(world);
    expect(missed(world).map(({ schedule }) => schedule)).toEqual(["hourly"]);
  });
});

test("two changes at once leave in Scheduler what the table has, though the earlier one reaches Scheduler last", async () => {
  const world = createWorld();
  await putSchedule(world.ctx, hourly);
  const { update } = world.schedules;
  world.schedules.update = async (schedule, from) => {
    world.schedules.update = update;
    await putSchedule(world.ctx, { ...hourly, timezone: "Europe/Berlin" });
    return update(schedule, from);
  };
  await putSchedule(world.ctx, other);
  const schedule = await readSchedule(world.ctx, "hourly");
  expect(schedule.timezone).toBe("Europe/Berlin");
  expect((await world.schedules.read("hourly"))?.schedule).toEqual(schedule);
});

test("a deleted schedule can be put again, and stays when the tick compares", async () => {
  const world = createWorld();
  await putSchedule(world.ctx, hourly);
  await removeSchedule(world.ctx, "hourly");
  expect(await putSchedule(world.ctx, other)).toMatchObject({ outcome: "created" });
  await compare(world);
  expect((await readSchedule(world.ctx, "hourly")).job.body).toBe('{"n":2}');
  expect(await bodyInScheduler(world)).toBe('{"n":2}');
  expect(itemsOf(world)[0]).not.toHaveProperty("expiresAt");
});

describe("a schedule of an earlier version, which only Scheduler has,", () => {
  test("is read, listed between the others, changed and run", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, { ...hourly, name: "a" });
    await putSchedule(world.ctx, { ...hourly, name: "z" });
    await world.schedules.create(inScheduler, undefined);
    expect(await readSchedule(world.ctx, "hourly")).toEqual(inScheduler);
    expect(await namesOf(world)).toEqual(["a", "hourly", "z"]);
    expect((await runSchedule(world.ctx, "hourly", undefined)).outcome).toBe("created");
    expect(await putSchedule(world.ctx, other)).toMatchObject({ outcome: "replaced" });
    expect(await bodyInScheduler(world)).toBe('{"n":2}');
    expect(itemsOf(world)).toHaveLength(3);
  });

  test("is listed once, on pages of any size", async () => {
    const world = createWorld();
    for (const name of ["a", "c", "e"]) await putSchedule(world.ctx, { ...hourly, name });
    for (const name of ["b", "d"]) await world.schedules.create({ ...inScheduler, name }, undefined);
    for (const limit of [1, 2, 3, 4, 5, 100]) {
      const names: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await listSchedules(world.ctx, limit, cursor);
        expect(page.schedules.length).toBeLessThanOrEqual(limit);
        names.push(...page.schedules.map(({ name }) => name));
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(names.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
    }
  });

  test("is stored in the table within an hour, so that its copy may be lost", async () => {
    const world = createWorld();
    await world.schedules.create(inScheduler, undefined);
    await compare(world);
    await world.schedules.remove("hourly");
    expect(await readSchedule(world.ctx, "hourly")).toEqual(inScheduler);
  });

  test("can be deleted, and does not come back", async () => {
    const world = createWorld();
    await world.schedules.create(inScheduler, undefined);
    await whileDown(world, () => removeSchedule(world.ctx, "hourly"));
    await compare(world);
    expect(await world.schedules.read("hourly")).toBeUndefined();
    expect(await namesOf(world)).toEqual([]);
  });
});

describe("a schedule that a construct declares", () => {
  const declared: Schedule = { ...inScheduler, name: "nightly", declared: "Shop/Jobs" };
  const REFUSED_CHANGE = expect.objectContaining({
    code: "bad-request",
    message:
      'schedule nightly must be changed where it is declared: in "schedules" of minutehand.json, or of the construct Shop/Jobs in the app. Change it there, and deploy',
  });
  async function deployed(): Promise<World> {
    const world = createWorld();
    await world.schedules.create(declared, undefined);
    return world;
  }

  test("is read, listed and run", async () => {
    const world = await deployed();
    await putSchedule(world.ctx, hourly);
    expect(await readSchedule(world.ctx, "nightly")).toEqual(declared);
    expect(await namesOf(world)).toEqual(["hourly", "nightly"]);
    expect((await runSchedule(world.ctx, "nightly", undefined)).outcome).toBe("created");
  });

  test.each<[string, (world: World) => Promise<unknown>]>([
    ["replaces", ({ ctx }) => putSchedule(ctx, { ...other, name: "nightly" })],
    ["pauses", ({ ctx }) => pauseSchedule(ctx, "nightly", true)],
    ["deletes", ({ ctx }) => removeSchedule(ctx, "nightly")],
  ])("is not changed by a call that %s it", async (_, call) => {
    const world = await deployed();
    await expect(call(world)).rejects.toEqual(REFUSED_CHANGE);
    expect((await world.schedules.read("nightly"))?.schedule).toEqual(declared);
    expect(itemsOf(world)).toEqual([]);
  });

  describe("whose name a schedule of a restored table has", () => {
    async function restored(): Promise<World> {
      const world = createWorld();
      await putSchedule(world.ctx, { ...other, name: "nightly" });
      await world.schedules.remove("nightly");
      await world.schedules.create(declared, undefined);
      return world;
    }

    test.each<[string, (world: World) => Promise<unknown>]>([
      ["replaces", ({ ctx }) => putSchedule(ctx, { ...other, name: "nightly" })],
      ["pauses", ({ ctx }) => pauseSchedule(ctx, "nightly", true)],
      ["deletes", ({ ctx }) => removeSchedule(ctx, "nightly")],
    ])("is not changed by a call that %s it", async (_, call) => {
      await expect(call(await restored())).rejects.toEqual(REFUSED_CHANGE);
    });

    test("is read and listed again once the tick has deleted the other, whose body is gone", async () => {
      const world = await restored();
      await world.pass(HOUR, { ticks: false });
      await compare(world);
      expect(await readSchedule(world.ctx, "nightly")).toEqual(declared);
      expect(await namesOf(world)).toEqual(["nightly"]);
      expect(JSON.stringify(itemsOf(world))).not.toContain("orders");
      const what = "comparing schedule nightly with EventBridge Scheduler";
      const error = "a construct declares a schedule with this name, so the one in the table was deleted";
      const times = [START + HOUR];
      expect(world.events).toEqual([
        { type: "trouble", topic: "", what, error },
        { type: "missed", topic: "orders", schedule: "nightly", times },
      ]);
      await compare(world);
      expect(world.events).toHaveLength(3);
    });
  });

  test("is left alone by the tick, also if a schedule with its name was deleted before", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, { ...hourly, name: "nightly" });
    await removeSchedule(world.ctx, "nightly");
    await world.schedules.create(declared, undefined);
    await compare(world);
    expect((await world.schedules.read("nightly"))?.schedule).toEqual(declared);
    expect(await readSchedule(world.ctx, "nightly")).toEqual(declared);
    expect(await namesOf(world)).toEqual(["nightly"]);
    await world.schedules.remove("nightly");
    expect(await namesOf(world)).toEqual([]);
  });
});

describe("the tick's comparison", () => {
  test("writes nothing to Scheduler if nothing differs", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    const update = vi.spyOn(world.schedules, "update");
    await compare(world);
    expect(update).not.toHaveBeenCalled();
    expect(world.events).toEqual([]);
  });

  test("writes what invokes another function than that of the present deployment", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    aimElsewhere(world);
    const update = vi.spyOn(world.schedules, "update");
    await compare(world);
    expect(update).toHaveBeenCalledTimes(1);
  });

  test("goes on with the other schedules if one fails, and reports the failure", async () => {
    const world = createWorld();
    for (const name of ["a", "b", "c"]) {
      await putSchedule(world.ctx, { ...hourly, name });
      await world.schedules.remove(name);
    }
    const { create } = world.schedules;
    world.schedules.create = async (schedule, from) => {
      if (schedule.name === "b") throw DOWN;
      return create(schedule, from);
    };
    await compare(world);
    expect(await world.schedules.list(10, undefined)).toEqual({ names: ["a", "c"] });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", error: "Scheduler is down" }),
    );
  });

  test("goes on an hour later where its time was over, and reports nothing twice", async () => {
    const world = createWorld();
    const names = Array.from({ length: 120 }, (_, i) => `s${String(i).padStart(3, "0")}`);
    for (const name of names) await putSchedule(world.ctx, { ...hourly, name });
    await world.schedules.remove("s119");
    await world.pass(HOUR, { ticks: false });
    const { read } = world.schedules;
    let reads = 0;
    for (let hours = 0; hours < 3; hours++) {
      const sinceHour = world.now() % HOUR;
      await world.pass(HOUR + 23 * MINUTE - sinceHour, { ticks: false });
      let isOver = false;
      reads = 0;
      world.schedules.read = async (name) => {
        isOver = ++reads >= 40;
        return read(name);
      };
      const clock = () => world.now() + (isOver ? 29_000 : 0);
      await keepSchedules({ ...world.ctx, clock }, world.now() + 20_000);
    }
    world.schedules.read = read;
    expect(await world.schedules.read("s119")).toBeDefined();
    const reported = world.events.flatMap((event) => (event.type === "missed" ? event.schedule : []));
    expect(reported).toEqual(names);
  });

  test("does not wait for Scheduler's list more than twice, and says what it did not check", async () => {
    const world = createWorld();
    await putSchedule(world.ctx, hourly);
    world.schedules.list = async () => {
      throw DOWN;
    };
    await compare(world);
    await compare(world);
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: "trouble", what: "checking the occurrences of declared schedules" }),
    );
    await world.schedules.remove("hourly");
    await compare(world);
    expect(await world.schedules.read("hourly")).toBeDefined();
  });

  test("takes no more than half a minute, so that it does not hold up the next tick for long", async () => {
    const world = createWorld();
    for (let i = 0; i < 60; i++) await putSchedule(world.ctx, { ...hourly, name: `s${i}` });
    await world.pass(23 * MINUTE, { ticks: false });
    let passed = 0;
    const { read } = world.schedules;
    const slow = vi.fn(async (name: string) => {
      passed += 2000;
      return read(name);
    });
    const schedules = { ...world.schedules, read: slow };
    await keepSchedules({ ...world.ctx, schedules, clock: () => world.now() + passed }, world.now() + HOUR);
    expect(slow).toHaveBeenCalledTimes(25);
  });

  test("logs nothing about a schedule that Scheduler has refused", async () => {
    const world = createWorld();
    await whileDown(world, () => putSchedule(world.ctx, hourly), REFUSED);
    await compare(world);
    expect(JSON.stringify(itemsOf(world))).not.toContain("orders");
    expect(world.events).toEqual([]);
  });

  test("happens in one minute of each hour, and ends when the time is over", async () => {
    const world = createWorld();
    const page = vi.spyOn(world.pool, "page");
    const ctx = { ...world.ctx, pool: world.pool };
    for (let minute = 0; minute < 60; minute++) {
      await keepSchedules(ctx, world.now() + MINUTE);
      await world.pass(MINUTE, { ticks: false });
    }
    expect(page).toHaveBeenCalledTimes(1);
    await putSchedule(world.ctx, hourly);
    await world.schedules.remove("hourly");
    await world.pass(23 * MINUTE, { ticks: false });
    await keepSchedules(world.ctx, world.now());
    expect(await world.schedules.read("hourly")).toBeUndefined();
  });
});
