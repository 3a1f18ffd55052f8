import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseOccurrence, type Schedule } from "../../src/core/occurrence.ts";
import type { Schedules } from "../../src/protocol/ports.ts";

export type OpenSchedules = {
  readonly schedules: Schedules;
  /** ms since the epoch. */
  now(): number;
  /** What a schedule's target is given of its occurrence at `time`, ms since the epoch. */
  inputOf(name: string, time: number): Promise<unknown>;
  close(): Promise<void>;
};

type Scene = OpenSchedules & {
  /** Two schedules that do not exist yet, and whose names no other test uses: one has all fields, one only those that it needs. */
  readonly full: Schedule;
  readonly plain: Schedule;
  readonly drawn: number;
};

const DAY = 86_400_000;
const BAD_REQUEST = expect.objectContaining({ code: "bad-request" });

export function schedulesContract(name: string, open: () => Promise<OpenSchedules>): void {
  describe(`the schedules ${name}`, () => {
    let opened: OpenSchedules;
    let scene: Scene;
    let drawn = 0;
    beforeAll(async () => {
      opened = await open();
    });
    beforeEach(() => {
      const plain = plainSchedule(`plain-${++drawn}`, startOfDay(opened.now()));
      scene = { ...opened, plain, full: fullSchedule(`full_${drawn}.x`, plain), drawn };
    });
    afterAll(() => opened?.close());

    keepSchedules(() => scene);
    removeSchedules(() => scene);
    listSchedules(() => scene);
    fireOnTime(() => scene);
  });
}

function startOfDay(time: number): number {
  return Math.floor(time / DAY) * DAY;
}

function plainSchedule(name: string, today: number): Schedule {
  return {
    name,
    expression: "cron(0 9 * * ? *)",
    timezone: "UTC",
    anchor: today,
    paused: false,
    createdAt: today,
    job: { topic: "orders", body: "null" },
  };
}

function fullSchedule(name: string, plain: Schedule): Schedule {
  const today = plain.anchor;
  return {
    ...plain,
    name,
    timezone: "Europe/Berlin",
    start: today + DAY,
    end: today + 9 * DAY,
    anchor: today + DAY,
    flexibleWindow: 15 * 60_000,
    paused: true,
    job: {
      topic: "orders",
      body: '{"a":[1,1.5e-9,true,null],"text":"\\"<b>\\" \\\\ ü \\u2028"}',
      callbackUrl: "https://example.com/a?b=<c>",
      headers: { "x-a": "b" },
      expiresAfter: 60_000,
      maxAttempts: 3,
      tag: "t",
      group: "g",
    },
  };
}

function keepSchedules(scene: () => Scene): void {
  describe("creating and updating", () => {
    it("keep all fields of what they are given", async () => {
      const { schedules, full, plain } = scene();
      expect(await schedules.create(full, full.start)).toBe("created");
      expect(await schedules.create(plain, undefined)).toBe("created");
      expect((await schedules.read(plain.name))?.schedule).toEqual(plain);
      const read = (await schedules.read(full.name))?.schedule;
      expect(read).toEqual({ ...full, job: { ...full.job, body: read?.job.body } });
      expect(JSON.parse(read?.job.body ?? "")).toEqual(JSON.parse(full.job.body));
    });

    it("a name can be taken once: a second schedule with the name is not created, and the first one stays as it was", async () => {
      const { schedules, full, plain } = scene();
      await schedules.create(plain, undefined);
      expect(await schedules.create({ ...full, name: plain.name }, undefined)).toBe("exists");
      expect((await schedules.read(plain.name))?.schedule).toEqual(plain);
    });

    it("an update replaces all fields, also those that it leaves out", async () => {
      const { schedules, full, plain } = scene();
      await schedules.create(full, full.start);
      const other = { ...plain, name: full.name };
      expect(await schedules.update(other, undefined)).toBe("updated");
      expect((await schedules.read(full.name))?.schedule).toEqual(other);
    });
  });
}

function removeSchedules(scene: () => Scene): void {
  describe("missing and removed schedules", () => {
    it("a schedule that does not exist cannot be read, updated or removed", async () => {
      const { schedules, plain } = scene();
      expect(await schedules.read("nobody")).toBeUndefined();
      expect(await schedules.update({ ...plain, name: "nobody" }, undefined)).toBe("missing");
      expect(await schedules.remove("nobody")).toBe("missing");
      expect(await schedules.read("nobody")).toBeUndefined();
    });

    it("a removed schedule cannot be read", async () => {
      const { schedules, plain } = scene();
      await schedules.create(plain, undefined);
      expect(await schedules.remove(plain.name)).toBe("removed");
      expect(await schedules.read(plain.name)).toBeUndefined();
    });
  });
}

function listSchedules(scene: () => Scene): void {
  describe("listing", () => {
    it("pages hold each name once, and the last has no cursor", async () => {
      const { schedules, plain, drawn } = scene();
      const names = Array.from({ length: 5 }, (_, i) => `page-${drawn}-${i}`);
      for (const name of names) await schedules.create({ ...plain, name }, undefined);
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await schedules.list(2, cursor);
        expect(page.names.length).toBeLessThanOrEqual(2);
        found.push(...page.names);
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(found.filter((name) => name.startsWith(`page-${drawn}-`)).sort()).toEqual(names);
      expect(new Set(found).size).toBe(found.length);
      expect((await schedules.list(100, undefined)).names.sort()).toEqual(found.sort());
    });
  });
}

function fireOnTime(scene: () => Scene): void {
  describe("times and the target", () => {
    it("have the target that an update would write", async () => {
      const { schedules, plain } = scene();
      await schedules.create(plain, undefined);
      expect(await schedules.read(plain.name)).toMatchObject({ isAimed: true });
    });

    it("a beginning that is long past is refused", async () => {
      const { schedules, now, plain } = scene();
      const long = now() - DAY;
      await expect(schedules.create(plain, long)).rejects.toEqual(BAD_REQUEST);
      await schedules.create(plain, undefined);
      await expect(schedules.update(plain, long)).rejects.toEqual(BAD_REQUEST);
    });

    it("if a schedule has only one occurrence, that may be its beginning and its end", async () => {
      const { schedules, now, plain } = scene();
      const only = now() - (now() % 1000) + DAY;
      const schedule = { ...plain, expression: "rate(1 day)", anchor: only, end: only };
      expect(await schedules.create(schedule, only)).toBe("created");
      expect((await schedules.read(plain.name))?.schedule).toEqual(schedule);
    });

    it("the target gets the time, and the job as it was given, in which Scheduler's placeholders stay text", async () => {
      const { schedules, inputOf, plain } = scene();
      const body = '"<aws.scheduler.scheduled-time> <aws.scheduler.execution-id>"';
      const headers = { "x-time": "<aws.scheduler.scheduled-time>" };
      await schedules.create({ ...plain, job: { ...plain.job, body, headers } }, undefined);
      const time = Date.UTC(2027, 0, 2, 9);
      const { name } = plain;
      expect(parseOccurrence(await inputOf(name, time))).toEqual({
        name,
        time,
        job: { ...plain.job, body, headers },
      });
    });
  });
}
