import { describe, expect, it, test } from "vitest";
import { DAY } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import { drawWithin } from "../../../src/core/spread.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { fileOccurrence, putSchedule, runSchedule } from "../../../src/protocol/file/recurring.ts";
import type { NewJob } from "../../../src/protocol/new-job.ts";
import { key } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const TEN = START + HOUR;
const JOB: NewJob = { topic: "orders", body: "{}", dueAt: TEN };

/** A world that draws only this byte for a spread. `spread`: the setting of its topics, in seconds. */
function drawing(byte: number, spread?: number): World {
  const own = spread === undefined ? {} : { spread };
  const world = createWorld({ topics: { orders: own, events: { ...own, tracking: "none" } } });
  const random = (count: number) => (count === 4 ? new Uint8Array(4).fill(byte) : world.ctx.random(count));
  return { ...world, ctx: { ...world.ctx, random } };
}
const filed = async (world: World, more: Partial<NewJob> = {}): Promise<Home> =>
  (await enqueue(world.ctx, { ...JOB, ...more })).home;

test("a drawn delay is whole ms, at least 0, and less than the spread", () => {
  const draw = (byte: number) => drawWithin(DAY, (count) => new Uint8Array(count).fill(byte));
  expect([draw(0), draw(128), draw(255)]).toEqual([0, 43_369_411, DAY - 1]);
});

describe("a spread", () => {
  it("makes a job due later by the drawn delay, and the job is filed at that time", async () => {
    const home = await filed(drawing(128), { spread: HOUR });
    const dueAt = TEN + 1_807_058;
    expect(home).toMatchObject({ dueAt, wantedAt: dueAt, sk: `${dueAt}#${home.id}` });
    expect(home).not.toHaveProperty("spread");
  });

  it("of the topic applies to jobs that have none of their own", async () => {
    const world = drawing(255, 60);
    expect(await filed(world)).toMatchObject({ dueAt: TEN + MINUTE - 1 });
    expect(await filed(world, { topic: "events" })).toMatchObject({ dueAt: TEN + MINUTE - 1 });
    expect(await filed(world, { spread: SECOND })).toMatchObject({ dueAt: TEN + SECOND - 1 });
    expect(await filed(world, { spread: 0 })).toMatchObject({ dueAt: TEN });
  });

  it("of 0 draws nothing", async () => {
    const counts: number[] = [];
    const { ctx } = createWorld();
    const random = (count: number) => {
      counts.push(count);
      return ctx.random(count);
    };
    await enqueue({ ...ctx, random }, JOB);
    expect(counts).toEqual([16]);
  });

  it("begins now for a time in the past", async () => {
    expect(await filed(drawing(255), { dueAt: START - HOUR, spread: MINUTE })).toMatchObject({
      dueAt: START + MINUTE - 1,
    });
  });

  it("spreads each job of a batch by itself", async () => {
    const world = createWorld();
    const jobs = Array.from({ length: 60 }, () => ({ ...JOB, spread: MINUTE }));
    const times = (await enqueueMany(world.ctx, jobs)).map((result) => "home" in result && result.home.dueAt);
    expect(new Set(times).size).toBeGreaterThan(50);
    for (const time of times)
      expect(Number(time) - TEN).toSatisfy((late: number) => late >= 0 && late < MINUTE);
  });

  it("applies to jobs that replace and postpone others too, within the bound", async () => {
    const world = drawing(255);
    await filed(world, { key });
    expect(await filed(world, { key, onDuplicate: "replace", spread: MINUTE })).toMatchObject({
      dueAt: TEN + MINUTE - 1,
      revision: 1,
    });
    const postpone = { key, onDuplicate: "postpone", maxDelay: HOUR, dueAt: START } as const;
    expect(await filed(world, { ...postpone, spread: MINUTE })).toMatchObject({ dueAt: START + MINUTE - 1 });
    expect(await filed(world, { ...postpone, dueAt: TEN, spread: MINUTE })).toMatchObject({ dueAt: TEN });
    expect(await filed(world, { ...postpone, key: "b", dueAt: TEN, spread: MINUTE })).toMatchObject({
      dueAt: TEN,
    });
  });

  it("is drawn once for an Idempotency-Key", async () => {
    const world = createWorld();
    const again = { spread: HOUR, once: { token: "t", hash: "h" } };
    const first = await filed(world, again);
    expect(await filed(world, again)).toMatchObject({ id: first.id, dueAt: first.dueAt });
  });

  it("of a schedule applies to each occurrence once, and not to a job that is filed by hand", async () => {
    const world = drawing(255);
    const job = { topic: "orders", body: "{}", spread: MINUTE };
    await putSchedule(world.ctx, { name: "s", expression: "cron(0 * * * ? *)", timezone: "UTC", job });
    const occurrence = { name: "s", time: TEN, job };
    const first = await fileOccurrence(world.ctx, occurrence);
    expect(first.home.dueAt).toBe(TEN + MINUTE - 1);
    expect((await fileOccurrence(world.ctx, occurrence)).home).toMatchObject({ id: first.home.id });
    expect((await runSchedule(world.ctx, "s", undefined)).home.dueAt).toBe(START);
  });
});
