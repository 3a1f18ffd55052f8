import { expect } from "vitest";
import { DAY } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { parkedKey } from "../../src/core/item-keys.ts";
import { ITEM_VERSION } from "../../src/core/items.ts";
import type { Schedule } from "../../src/core/occurrence.ts";
import { resumeTopic } from "../../src/protocol/change/pause.ts";
import { enqueue, enqueueMany } from "../../src/protocol/file/enqueue.ts";
import { removeSchedule } from "../../src/protocol/file/recurring.ts";
import type { NewJob } from "../../src/protocol/new-job.ts";
import { claim } from "../../src/protocol/run/claim.ts";
import { HOUR, MINUTE, SECOND } from "../support/world.ts";
import { MARK } from "./deployment.ts";
import { isNote, isPause, isSweep, marked, type Scenes, type Step, TOPICS, TRACKED } from "./scenes.ts";

export async function fileFarAhead(scenes: Scenes): Promise<void> {
  const { ok, file, fileByApi, fill, hold, home, meanwhile, newKey } = scenes;
  const { ctx, pass, producer, promote } = scenes;
  const id = await fileByApi("orders", { delay: "30d" });
  expect((await home(id)).hasSchedule).toBe(true);
  await ok("PATCH", `/jobs/${id}`, { delay: "60d" });
  await ok("PATCH", `/jobs/${id}`, { delay: "1h" });
  await ok("DELETE", `/jobs/${await fileByApi("orders", { delay: "30d", key: newKey() })}`);
  const far = await producer.enqueue("orders", marked(), { delay: "30d" });
  await producer.reschedule(far.id, { delay: "60d" });
  await producer.cancel(far.id);

  for (const topic of TRACKED) {
    await promote({ id: (await file(topic)).id });
    await promote({ id: (await file(topic, { dueAt: ctx.clock() + 4 * MINUTE })).id });
  }
  const soon = () => file("orders", { dueAt: ctx.clock() + 5 * MINUTE });
  await promote({ id: (await soon()).id });
  await promote({ id: (await file("orders", { dueAt: ctx.clock() + DAY })).id });
  await hold("orders");
  const parked = await soon();
  await promote({ id: parked.id });
  // No schedule names an untracked job, but a user can invoke the function so.
  await promote({ id: (await file("notes", { dueAt: ctx.clock() + 5 * MINUTE })).id });
  const steps: Step[] = [[isNote, () => resumeTopic(ctx, "orders", undefined)]];
  await meanwhile(steps, async () => promote({ id: (await soon()).id }));
  pass(6 * SECOND);
  await fill("orders");
  const late = await soon();
  await promote({ id: late.id });
  expect(await scenes.isParked(late.id)).toBe(true);
  pass(11 * MINUTE);
}

/** What events do to jobs of `orders`: jobs that wait, run, are cancelled or are not filed yet, and jobs that events have filed. */
export async function comeAbout(scenes: Scenes): Promise<void> {
  await cancelByEvents(scenes);
  await cancelInAdvance(scenes);
  await refuseToEndRunning(scenes);
  await fileByEvents(scenes);
  await fileByEventsAgain(scenes);
  await fileByEventsHeld(scenes);
  const wrong = [
    `${MARK}: no event`,
    eventText(scenes, "Done", `${MARK} no key`),
    eventText(scenes, "Asked", { key: MARK }),
  ];
  expect((await scenes.bring(wrong)).batchItemFailures).toHaveLength(3);
}

const ALL = { batchItemFailures: [] };

/** The text of an event of a shop about the job of a key. `at`: when it happened, ms since the epoch. */
function eventText({ ctx }: Scenes, detailType: string, key: unknown, at = ctx.clock()): string {
  return JSON.stringify({
    id: `event-${events++}`,
    source: "shop",
    "detail-type": detailType,
    time: new Date(at).toISOString(),
    detail: marked({ key }),
  });
}

async function holderOf({ home, ok }: Scenes, key: string): Promise<Home> {
  return home(String((await ok("GET", `/topics/orders/jobs/${key}`)).id));
}

async function cancelByEvents(scenes: Scenes): Promise<void> {
  const { newKey, file, home, ctx, bring, producer } = scenes;
  const waiting = await file("orders", { key: newKey(), dueAt: ctx.clock() + DAY });
  const done = eventText(scenes, "Done", waiting.key);
  expect(await bring([done, done, eventText(scenes, "Nobody's", waiting.key)])).toEqual(ALL);
  expect(await home(waiting.id)).toMatchObject({ state: "cancelled" });
  const far = await producer.enqueue("orders", marked(), { delay: "30d", key: newKey() });
  expect(await bring([eventText(scenes, "Done", far.key)])).toEqual(ALL);
}

/** The event comes before the job, which the API, a producer or another event then files. A second event for each key follows. */
async function cancelInAdvance(scenes: Scenes): Promise<void> {
  const { ok, newKey, pass, bring, producer } = scenes;
  const early = [newKey(), newKey(), newKey()] as const;
  expect(await bring(early.map((key) => eventText(scenes, "Done", key)))).toEqual(ALL);
  pass(SECOND);
  expect(await bring(early.map((key) => eventText(scenes, "Done", key)))).toEqual(ALL);
  const born = [
    await ok("POST", "/jobs", { topic: "orders", body: marked(), delay: "30d", key: early[0] }),
    await producer.enqueue("orders", marked(), { delay: "1h", key: early[1] }),
  ];
  for (const job of born) expect(job).toMatchObject({ state: "cancelled" });
  expect(await bring([eventText(scenes, "Asked", early[2])])).toEqual(ALL);
  expect(await holderOf(scenes, early[2])).toMatchObject({ state: "cancelled" });
  pass(10 * MINUTE);
  expect(await bring(early.map((key) => eventText(scenes, "Done", key)))).toEqual(ALL);
}

async function refuseToEndRunning(scenes: Scenes): Promise<void> {
  const { newKey, file, ctx, pass, bring } = scenes;
  const running = await file("orders", { key: newKey() });
  const { id, revision } = running;
  const job = { id, revision, attempt: 1, dueAt: new Date(running.dueAt).toISOString(), body: null };
  await claim(ctx, "orders", [job], ctx.clock() + MINUTE);
  expect(await bring([eventText(scenes, "Done", running.key)])).toEqual(ALL);
  pass(SECOND);
  expect(await bring([eventText(scenes, "Again", running.key)])).toEqual({
    batchItemFailures: [{ itemIdentifier: "m0" }],
  });
}

async function fileByEvents(scenes: Scenes): Promise<void> {
  const { ok, newKey, ctx, bring } = scenes;
  for (const type of ["Asked", "Again", "Later", "Far"]) {
    const key = newKey();
    const first = eventText(scenes, type, key);
    const earlier = eventText(scenes, type, key, ctx.clock() - SECOND);
    expect(await bring([first])).toEqual(ALL);
    expect(await bring([first, eventText(scenes, type, key), earlier])).toEqual(ALL);
    await ok("DELETE", `/topics/orders/jobs/${key}`);
    expect(await bring([eventText(scenes, type, key)])).toEqual(ALL);
    await ok("DELETE", `/topics/orders/jobs/${key}`);
  }
}

async function fileByEventsAgain(scenes: Scenes): Promise<void> {
  const { newKey, file, home, withoutSqs, ctx, pass, bring } = scenes;
  const replaced = await file("orders", { key: newKey(), dueAt: ctx.clock() + DAY });
  await bring([eventText(scenes, "Again", replaced.key)]);
  expect(await home(replaced.id)).toMatchObject({ revision: 1 });
  const asked = newKey();
  await withoutSqs(() => bring([eventText(scenes, "Asked", asked)]));
  // A minute later SQS takes messages again.
  pass(MINUTE);
  await bring([eventText(scenes, "Again", asked), eventText(scenes, "Asked", asked)]);
}

async function fileByEventsHeld(scenes: Scenes): Promise<void> {
  const { newKey, meanwhile, hold, letGo, fill, fillSome, ctx, pass, bring } = scenes;
  await hold("orders");
  await bring([eventText(scenes, "Asked", newKey())]);
  await meanwhile([[isNote, () => resumeTopic(ctx, "orders", undefined)]], () =>
    bring([eventText(scenes, "Asked", newKey())]),
  );
  await letGo("orders");
  await fillSome("orders");
  await bring([eventText(scenes, "Asked", newKey())]);
  await fill("orders");
  const late = newKey();
  await bring([eventText(scenes, "Asked", late)]);
  expect(await scenes.isParked((await holderOf(scenes, late)).id)).toBe(true);
  pass(11 * MINUTE);
}

let events = 0;

export async function tickEveryWay(scenes: Scenes): Promise<void> {
  await tickFor(scenes, 1);
  await tickForManyJobs(scenes);
  await tickWithoutSqs(scenes);
  await tickDuringPause(scenes);
  await tickWhileHeld(scenes);
  await tickForMoved(scenes);
  await tickForExpired(scenes);
  await tickForLost(scenes);
  await tickForDead(scenes);
  await scenes.tickWithShards(3);
  await tickWithBacklog(scenes);
  await redriveADayLater(scenes);
}

async function tickFor({ pass, tick }: Scenes, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    pass(MINUTE);
    await tick();
  }
}

const soon = () => Date.now() + 6 * MINUTE;

/** Homes, looks, a minute with more jobs than fit in a page, and a job of a topic without a queue. The tick records that this job is dead. */
async function tickForManyJobs(scenes: Scenes): Promise<void> {
  const { ok, file, home, ctx } = scenes;
  for (const topic of TOPICS) await file(topic, { dueAt: soon() });
  for (let i = 0; i < 8; i++) {
    const { id } = await file("orders", { dueAt: Date.now() + DAY });
    await ok("PATCH", `/jobs/${id}`, { delay: "6m" });
  }
  const full = soon() - (soon() % MINUTE);
  const many = Array.from({ length: 1200 }, (): NewJob => ({ topic: "notes", body: "{}", dueAt: full }));
  await enqueueMany(ctx, many);
  const ghost = await fileGhost(scenes);
  await tickFor(scenes, 4);
  expect(await home(ghost)).toMatchObject({ state: "dead" });
}

/** Files a job of a topic without a queue, as another deployment may have it. Answers its id. */
async function fileGhost({ ctx }: Scenes): Promise<string> {
  const ghost = { topic: "ghost", key: `${MARK}-ghost`, body: "{}" };
  const owner = { ...ctx, policy: { ...ctx.policy, topics: { ...ctx.policy.topics, ghost: {} } } };
  const lost = await enqueue(owner, { ...ghost, dueAt: soon() });
  return lost.home.id;
}

/** The tick asks the queues to which it has sent nothing whether SQS as a whole does not answer. In round two it has sent to more. */
async function tickWithoutSqs(scenes: Scenes): Promise<void> {
  const { file, withoutSqs, pass, tick } = scenes;
  for (const topics of [
    ["orders", "precise"],
    ["orders", "precise", "notes", "work"],
  ]) {
    for (const topic of topics) for (let i = 0; i < 12; i++) await file(topic, { dueAt: soon() });
    pass(4 * MINUTE);
    await withoutSqs(tick);
    await tickFor(scenes, 4);
  }
}

async function tickDuringPause(scenes: Scenes): Promise<void> {
  const { ok, file, home, pass } = scenes;
  const held = [await file("orders", { dueAt: soon() }), await file("orders", { dueAt: soon() })];
  await ok("POST", "/topics/orders/pause");
  await tickFor(scenes, 7);
  for (const { id } of held) expect(await home(id)).toMatchObject({ state: "scheduled" });
  await scenes.meanwhile([[isPause, () => pass(6 * SECOND)]], () =>
    ok("POST", "/topics/orders/resume", { ratePerSecond: 1 }),
  );
  await tickFor(scenes, 12);
}

async function tickWhileHeld(scenes: Scenes): Promise<void> {
  const { file, hold, letGo, fill } = scenes;
  await hold("orders");
  await file("orders", { dueAt: soon() });
  await tickFor(scenes, 4);
  await letGo("orders");
  const late = await file("orders", { dueAt: soon() });
  await fill("orders");
  await tickFor(scenes, 4);
  expect(await scenes.isParked(late.id)).toBe(true);
  await tickFor(scenes, 8);
}

/** A job that was moved by a call that died before it sent the job. The note of the job's old revision is left. */
async function tickForMoved(scenes: Scenes): Promise<void> {
  const { ok, file, home, ctx } = scenes;
  const moved = await file("orders", { dueAt: soon() });
  await ok("PATCH", `/jobs/${moved.id}`, { body: marked() });
  const note = {
    ...parkedKey({ ...(await home(moved.id)), revision: 0 }),
    v: ITEM_VERSION,
    id: moved.id,
    revision: 0,
  };
  await ctx.pool.insert([note], ctx.clock() + MINUTE);
  await tickFor(scenes, 6);
}

async function tickForExpired(scenes: Scenes): Promise<void> {
  const { file, home, pass } = scenes;
  const expiring = await file("orders", { dueAt: soon(), expiresAfter: SECOND });
  pass(8 * MINUTE);
  await tickFor(scenes, 1);
  expect(await home(expiring.id)).toMatchObject({ state: "expired" });
}

/** Lost messages, which the audit finds, and a run that goes on. */
async function tickForLost(scenes: Scenes): Promise<void> {
  const { ok, newKey, fileByApi, home, purge, pullOne, losingKeys } = scenes;
  const longest = await pullOne("work", { body: marked() });
  await ok("POST", "/topics/work/extend", { receipt: longest.receipt, seconds: 3600 });
  const missing = await fileByApi("orders");
  const left = await fileByApi("orders", { delay: "6m", key: newKey() });
  await losingKeys(() => ok("DELETE", `/jobs/${left}`));
  for (const topic of ["orders", "work", "precise"]) await purge(topic);
  await tickFor(scenes, 16);
  expect(await home(missing)).toMatchObject({ state: "scheduled" });
}

async function tickForDead(scenes: Scenes): Promise<void> {
  const { ok, pullOne } = scenes;
  const dead = [await pullOne("work"), await pullOne("work")];
  for (const { receipt } of dead) await ok("POST", "/topics/work/bury", { receipt });
  await ok("POST", "/topics/work/redrive", { ids: [dead[0]?.id], delay: "1h" });
  await tickFor(scenes, 1);
}

/** A day later the same Idempotency-Key starts another redrive. */
async function redriveADayLater({ ok, pass }: Scenes): Promise<void> {
  const redrive = () => ok("POST", "/topics/work/redrive", {}, { "idempotency-key": `${MARK}-redrive` });
  await redrive();
  pass(DAY + MINUTE);
  await redrive();
}

/** Its first page takes six seconds, so it gives shards away. Nobody begins them within twenty seconds, so it takes them back. */
function tickWithBacklog({ meanwhile, pass, tick }: Scenes): Promise<void> {
  let hasGiven = false;
  const steps: Step[] = [
    [isSweep, () => pass(6 * SECOND)],
    [({ operation }) => operation === "Invoke", given],
    [({ operation }) => hasGiven && operation !== "Invoke", () => pass(20 * SECOND)],
  ];
  return meanwhile(steps, tick);

  function given(): void {
    hasGiven = true;
  }
}

/** The tick finds copies in Scheduler that are missing, that differ, that are of a deleted schedule, and one of an earlier version. */
export async function compareSchedules({ ok, ctx, pass, tick }: Scenes): Promise<void> {
  const { schedules } = ctx;
  if (!schedules) throw new Error("the scenes need EventBridge Scheduler");
  const put = (name: string) =>
    ok("PUT", `/schedules/${name}`, { topic: "orders", body: marked(), expression: "rate(1 hour)" });
  for (const name of ["missing", "different", "deleted"]) await put(name);
  const copy = (await schedules.read("different"))?.schedule as Schedule;
  await schedules.remove("missing");
  await schedules.update({ ...copy, paused: true }, undefined);
  await schedules.create({ ...copy, name: "earlier" }, undefined);
  const down = async () => Promise.reject(new Error("down"));
  const withoutScheduler = { ...ctx, schedules: { ...schedules, remove: down } };
  await expect(removeSchedule(withoutScheduler, "deleted")).rejects.toThrow("down");
  await ok("GET", "/schedules?limit=1");
  await ok("GET", "/schedules");
  pass(HOUR + 23 * MINUTE - (ctx.clock() % HOUR));
  await tick();
  expect((await schedules.read("different"))?.schedule).toEqual(copy);
  const names = ["different", "earlier", "missing", "nightly"];
  expect((await schedules.list(9, undefined)).names.toSorted()).toEqual(names);
  expect(await ok("GET", "/schedules/nightly")).toMatchObject({ declared: "Shop/Jobs", body: marked() });
}
