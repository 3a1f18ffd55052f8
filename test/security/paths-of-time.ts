import { expect } from "vitest";
import { DAY } from "../../core/constants.ts";
import { ITEM_VERSION, parkedKey } from "../../core/items.ts";
import { resumeTopic } from "../../protocol/change/pause.ts";
import { enqueue, enqueueMany } from "../../protocol/file/enqueue.ts";
import type { NewJob } from "../../protocol/new-job.ts";
import { claim } from "../../protocol/run/claim.ts";
import { MINUTE, SECOND } from "../support/world.ts";
import { MARK } from "./deployment.ts";
import { isNote, isPause, marked, type Scenes, type Step, TOPICS, TRACKED } from "./scenes.ts";

/** The one-time schedules of far jobs, and every path of the function that they invoke. */
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
  const { file, fill, fillSome, hold, home, letGo, meanwhile, newKey, ok, withoutSqs } = scenes;
  const { bring, ctx, pass, producer } = scenes;
  const event = (detailType: string, key: unknown, more: object = {}, at = ctx.clock()) =>
    JSON.stringify({
      id: `event-${events++}`,
      source: "shop",
      "detail-type": detailType,
      time: new Date(at).toISOString(),
      detail: marked({ key, ...more }),
    });
  const holder = async (key: string) => home(String((await ok("GET", `/topics/orders/jobs/${key}`)).id));
  const all = { batchItemFailures: [] };

  const waiting = await file("orders", { key: newKey(), dueAt: ctx.clock() + DAY });
  const done = event("Done", waiting.key);
  expect(await bring([done, done, event("Nobody's", waiting.key)])).toEqual(all);
  expect(await home(waiting.id)).toMatchObject({ state: "cancelled" });
  const far = await producer.enqueue("orders", marked(), { delay: "30d", key: newKey() });
  expect(await bring([event("Done", far.key)])).toEqual(all);

  // The event comes before the job, which the API, a producer or another event then files. A second event for each key follows.
  const early = [newKey(), newKey(), newKey()] as const;
  expect(await bring(early.map((key) => event("Done", key)))).toEqual(all);
  pass(SECOND);
  expect(await bring(early.map((key) => event("Done", key)))).toEqual(all);
  const born = [
    await ok("POST", "/jobs", { topic: "orders", body: marked(), delay: "30d", key: early[0] }),
    await producer.enqueue("orders", marked(), { delay: "1h", key: early[1] }),
  ];
  for (const job of born) expect(job).toMatchObject({ state: "cancelled" });
  expect(await bring([event("Asked", early[2])])).toEqual(all);
  expect(await holder(early[2])).toMatchObject({ state: "cancelled" });
  pass(10 * MINUTE);
  expect(await bring(early.map((key) => event("Done", key)))).toEqual(all);

  const running = await file("orders", { key: newKey() });
  const { id, revision } = running;
  const job = { id, revision, attempt: 1, dueAt: new Date(running.dueAt).toISOString(), body: null };
  await claim(ctx, "orders", [job], ctx.clock() + MINUTE);
  expect(await bring([event("Done", running.key)])).toEqual(all);
  pass(SECOND);
  expect(await bring([event("Again", running.key)])).toEqual({
    batchItemFailures: [{ itemIdentifier: "m0" }],
  });

  for (const type of ["Asked", "Again", "Later", "Far"]) {
    const key = newKey();
    const first = event(type, key);
    const earlier = event(type, key, {}, ctx.clock() - SECOND);
    expect(await bring([first])).toEqual(all);
    expect(await bring([first, event(type, key), earlier])).toEqual(all);
    await ok("DELETE", `/topics/orders/jobs/${key}`);
    expect(await bring([event(type, key)])).toEqual(all);
    await ok("DELETE", `/topics/orders/jobs/${key}`);
  }
  const replaced = await file("orders", { key: newKey(), dueAt: ctx.clock() + DAY });
  await bring([event("Again", replaced.key)]);
  expect(await home(replaced.id)).toMatchObject({ revision: 1 });
  const asked = newKey();
  await withoutSqs(() => bring([event("Asked", asked)]));
  // A minute later SQS takes messages again.
  pass(MINUTE);
  await bring([event("Again", asked), event("Asked", asked)]);

  await hold("orders");
  await bring([event("Asked", newKey())]);
  await meanwhile([[isNote, () => resumeTopic(ctx, "orders", undefined)]], () =>
    bring([event("Asked", newKey())]),
  );
  await letGo("orders");
  await fillSome("orders");
  await bring([event("Asked", newKey())]);
  await fill("orders");
  const late = newKey();
  await bring([event("Asked", late)]);
  expect(await scenes.isParked((await holder(late)).id)).toBe(true);
  pass(11 * MINUTE);

  const wrong = [`${MARK}: no event`, event("Done", `${MARK} no key`), event("Asked", { key: MARK })];
  expect((await bring(wrong)).batchItemFailures).toHaveLength(3);
}

let events = 0;

export async function tickEveryWay(scenes: Scenes): Promise<void> {
  const { file, fill, home, fileByApi, hold, letGo, losingKeys, newKey, ok, purge, pullOne } = scenes;
  const { ctx, tick, tickWithShards, pass, withoutSqs } = scenes;
  const minutes = async (count: number) => {
    for (let i = 0; i < count; i++) {
      pass(MINUTE);
      await tick();
    }
  };
  await minutes(1);

  // Homes, looks, and a minute with more jobs than fit in a page.
  const soon = () => Date.now() + 6 * MINUTE;
  for (const topic of TOPICS) await file(topic, { dueAt: soon() });
  for (let i = 0; i < 8; i++) {
    const { id } = await file("orders", { dueAt: Date.now() + DAY });
    await ok("PATCH", `/jobs/${id}`, { delay: "6m" });
  }
  const full = soon() - (soon() % MINUTE);
  const many = Array.from({ length: 1200 }, (): NewJob => ({ topic: "notes", body: "{}", dueAt: full }));
  await enqueueMany(ctx, many);
  // A job of a topic without a queue, as another deployment may have it. The tick records that the job is dead.
  const ghost = { topic: "ghost", key: `${MARK}-ghost`, body: "{}" };
  const owner = { ...ctx, policy: { ...ctx.policy, topics: { ...ctx.policy.topics, ghost: {} } } };
  const lost = await enqueue(owner, { ...ghost, dueAt: soon() });
  await minutes(4);
  expect(await home(lost.home.id)).toMatchObject({ state: "dead" });

  // No send reaches SQS. The tick then asks the queues of the topics to which it has sent nothing, to learn whether SQS as a
  // whole does not answer. In the second round it has sent to more topics.
  for (const topics of [
    ["orders", "precise"],
    ["orders", "precise", "notes", "work"],
  ]) {
    for (const topic of topics) for (let i = 0; i < 12; i++) await file(topic, { dueAt: soon() });
    pass(4 * MINUTE);
    await withoutSqs(tick);
    await minutes(4);
  }

  // Jobs that become due during a pause, during a resume with a rate, and while other jobs have all starts.
  const held = [await file("orders", { dueAt: soon() }), await file("orders", { dueAt: soon() })];
  await ok("POST", "/topics/orders/pause");
  await minutes(7);
  for (const { id } of held) expect(await home(id)).toMatchObject({ state: "scheduled" });
  await scenes.meanwhile([[isPause, () => pass(6 * SECOND)]], () =>
    ok("POST", "/topics/orders/resume", { ratePerSecond: 1 }),
  );
  await minutes(12);
  await hold("orders");
  await file("orders", { dueAt: soon() });
  await minutes(4);
  await letGo("orders");
  const late = await file("orders", { dueAt: soon() });
  await fill("orders");
  await minutes(4);
  expect(await scenes.isParked(late.id)).toBe(true);
  await minutes(8);

  // A job that was moved by a call that died before it sent the job. The note of the job's old revision is left.
  const moved = await file("orders", { dueAt: soon() });
  await ok("PATCH", `/jobs/${moved.id}`, { body: marked() });
  const note = {
    ...parkedKey({ ...(await home(moved.id)), revision: 0 }),
    v: ITEM_VERSION,
    id: moved.id,
    revision: 0,
  };
  await ctx.pool.insert([note], ctx.clock() + MINUTE);
  await minutes(6);

  // One that expires while no tick comes.
  const expiring = await file("orders", { dueAt: soon(), expiresAfter: SECOND });
  pass(8 * MINUTE);
  await minutes(1);
  expect(await home(expiring.id)).toMatchObject({ state: "expired" });

  // Lost messages, which the audit finds. A run that goes on. Dead letters of redriven jobs and of dead jobs.
  const longest = await pullOne("work", { body: marked() });
  await ok("POST", "/topics/work/extend", { receipt: longest.receipt, seconds: 3600 });
  const missing = await fileByApi("orders");
  const left = await fileByApi("orders", { delay: "6m", key: newKey() });
  await losingKeys(() => ok("DELETE", `/jobs/${left}`));
  for (const topic of ["orders", "work", "precise"]) await purge(topic);
  await minutes(16);
  expect(await home(missing)).toMatchObject({ state: "scheduled" });
  const dead = [await pullOne("work"), await pullOne("work")];
  for (const { receipt } of dead) await ok("POST", "/topics/work/bury", { receipt });
  await ok("POST", "/topics/work/redrive", { ids: [dead[0]?.id], delay: "1h" });
  await minutes(1);
  await tickWithShards(3);
  await tickWithBacklog(scenes);

  // A day later the same Idempotency-Key starts another redrive.
  const redrive = () => ok("POST", "/topics/work/redrive", {}, { "idempotency-key": `${MARK}-redrive` });
  await redrive();
  pass(DAY + MINUTE);
  await redrive();
}

/**
 * A tick whose first page takes six seconds: the tick gives shards to further invocations. Nobody begins them within twenty seconds, so the
 * tick takes the shards back.
 */
function tickWithBacklog({ meanwhile, pass, tick }: Scenes): Promise<void> {
  let hasGiven = false;
  const steps: Step[] = [
    [({ operation }) => operation === "Query", () => pass(6 * SECOND)],
    [({ operation }) => operation === "Invoke", given],
    [({ operation }) => hasGiven && operation !== "Invoke", () => pass(20 * SECOND)],
  ];
  return meanwhile(steps, tick);

  function given(): void {
    hasGiven = true;
  }
}
