import { expect } from "vitest";
import { COUNTED_GENERATION, DAY } from "../../src/core/constants.ts";
import { pauseKey } from "../../src/core/item-keys.ts";
import { resumeTopic } from "../../src/protocol/change/pause.ts";
import { MINUTE, SECOND } from "../support/world.ts";
import { type Answer, MARK } from "./deployment.ts";
import { isNote, isPause, marked, type Scenes, type Step, secrets, TOPICS, TRACKED } from "./scenes.ts";

const once = (name: string) => ({ "idempotency-key": `${MARK}-once-${name}` });
const far = { topic: "orders", body: marked(), delay: "1h", ...secrets };

export async function callEveryRoute(scenes: Scenes): Promise<void> {
  const { ok, ctx } = scenes;
  for (const path of ["/health", "/openapi.json", "/topics", "/topics/orders", "/topics/work"])
    await ok("GET", path);
  await fileEachKind(scenes);
  await fileBatches(scenes);
  await fileByKey(scenes);
  await cancelMany(scenes);
  await ok("GET", `/jobs?from=${new Date(ctx.clock() - DAY / 8).toISOString()}`);
  await ok("GET", "/forecast");
  await callBulks(scenes);
  await redrive(scenes, await settleEveryWay(scenes));
  await prolong(scenes);
}

async function fileEachKind({ ok, call }: Scenes): Promise<void> {
  for (const [name, topic] of [
    ["a", "orders"],
    ["b", "work"],
    ["c", "events"],
  ] as const) {
    await ok("POST", "/jobs", { ...far, topic, delay: topic === "events" ? 0 : "1h" }, once(name));
    await ok("POST", "/jobs", { ...far, topic, delay: topic === "events" ? 0 : "1h" }, once(name));
  }
  await ok("POST", "/jobs", { ...far, topic: "events", delay: 215 }, once("near"));
  expect((await call("POST", "/jobs", { ...far, delay: "2h" }, once("a"))).status).toBe(422);
}

async function fileBatches({ ok, newKey, withoutSqs, call }: Scenes): Promise<void> {
  const jobs = [
    far,
    far,
    { ...far, topic: "work", delay: 0 },
    { topic: "nobody" },
    { ...far, key: newKey() },
  ];
  await ok("POST", "/jobs/batch", { jobs }, once("batch"));
  // The once item names the further job too.
  await ok("POST", "/jobs/batch", { jobs: [...jobs, far] }, once("batch"));
  const plain = [
    far,
    { ...far, delay: 0 },
    { ...far, topic: "notes", delay: 0 },
    { ...far, topic: "precise" },
  ];
  await ok("POST", "/jobs/batch", { jobs: plain });
  await withoutSqs(() =>
    ok("POST", "/jobs/batch", {
      jobs: [
        { ...far, delay: 0 },
        { ...far, delay: 1 },
      ],
    }),
  );
  for (const topic of ["events", "notes"])
    expect((await withoutSqs(() => call("POST", "/jobs", { topic, body: marked(), delay: 0 }))).status).toBe(
      503,
    );
}

async function fileByKey({ ok, newKey, fileByApi, call }: Scenes): Promise<void> {
  const key = newKey();
  const id = await fileByApi("orders", { delay: "1h", key });
  expect((await call("POST", "/jobs", { ...far, key })).status).toBe(409);
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "keep" });
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "keep" }, once("kept"));
  const near = { topic: "orders", body: marked(), delay: 30, key: newKey(), onDuplicate: "keep" };
  for (let i = 0; i < 2; i++) await ok("POST", "/jobs", near);
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "replace" });
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "replace" }, once("replaced"));
  const inChain = { "minutehand-chain": `${id}.${COUNTED_GENERATION}` };
  await ok("PUT", `/topics/orders/jobs/${key}`, { body: marked(), delay: "2h" }, inChain);
  await ok("GET", `/topics/orders/jobs/${key}`);
  await ok("GET", `/jobs/${id}`);
  await ok("PATCH", `/jobs/${id}`, { delay: 0, body: marked({ n: 2 }) });
  await ok("DELETE", `/topics/orders/jobs/${key}`);
  await ok("DELETE", `/jobs/${id}`);
  // The key is free again. The call checks that its last holder is over, and that this stays so.
  await ok("PUT", `/topics/orders/jobs/${key}`, { body: marked(), delay: "1h" });
}

async function cancelMany({ ok, fileByApi, call }: Scenes): Promise<void> {
  const untracked = await fileByApi("events", { delay: "1h" });
  const ids = [await fileByApi("orders"), await fileByApi("work"), untracked];
  await ok("POST", "/jobs/cancel", { ids: [...ids, ids[0], "none", "01ARZ3NDEK00SV4RRFFQ69G5FA"] });
  expect((await call("DELETE", `/jobs/${untracked}`)).status).toBe(409);
  expect((await call("GET", "/jobs/01ARZ3NDEK00SV4RRFFQ69G5FA")).status).toBe(404);
}

async function redrive(scenes: Scenes, buried: readonly string[]): Promise<void> {
  const { ok } = scenes;
  await ok("GET", "/topics/work/dead");
  await scenes.forgetKeyOf(buried[0] ?? "");
  await ok("POST", "/topics/work/redrive", { ids: buried, delay: "1h" });
  await ok("POST", "/topics/work/redrive", {});
  for (let i = 0; i < 2; i++) await ok("POST", "/topics/work/redrive", {}, once("redrive"));
  const { id, receipt } = await scenes.pullOne("work");
  await ok("POST", "/topics/work/bury", { receipt, error: "hopeless" });
  expect(await ok("POST", "/topics/work/dismiss", { ids: [id] })).toMatchObject({ dismissed: 1 });
}

/** Moves a job so far ahead that its once item must be prolonged. */
async function prolong(scenes: Scenes): Promise<void> {
  const { ok, ctx } = scenes;
  const prolonged = await scenes.file("orders", { dueAt: ctx.clock() + DAY });
  await ok("PATCH", `/jobs/${prolonged.id}`, { delay: "30d" }, once("patch"));
}

export async function settleEveryWay(scenes: Scenes): Promise<string[]> {
  const { call, ok, newKey, pullOne } = scenes;
  const extended = await pullOne("work", secrets);
  await ok("POST", "/topics/work/extend", { receipt: extended.receipt, seconds: 60 });
  await ok("POST", "/topics/work/finish", { receipt: extended.receipt });
  expect((await call("POST", "/topics/work/retry", { receipt: extended.receipt })).status).toBe(409);
  const retried = await pullOne("work");
  await ok("POST", "/topics/work/retry", { receipt: retried.receipt, delay: "1h", error: "busy" });
  const disowned = newKey();
  const given = await pullOne("work", { key: disowned });
  await scenes.disown("work", disowned);
  expect(await ok("POST", "/topics/work/retry", { receipt: given.receipt })).toMatchObject({
    state: "cancelled",
  });
  const buried = [
    await pullOne("work", { key: newKey() }),
    await pullOne("work", { key: newKey() }),
    await pullOne("work"),
  ];
  for (const { receipt } of buried) await ok("POST", "/topics/work/bury", { receipt, error: "hopeless" });
  const loose = await pullOne("events");
  await ok("POST", "/topics/events/extend", { receipt: loose.receipt, seconds: 60 });
  await ok("POST", "/topics/events/retry", { receipt: loose.receipt, delay: 60 });
  await ok("POST", "/topics/events/finish", { receipt: loose.receipt });
  return buried.map(({ id }) => id);
}

/** Each action of a bulk, and one dry run (of `move`), over jobs that wait, run or are dead. */
async function callBulks(scenes: Scenes): Promise<void> {
  const { ok, newKey, fileByApi, pullOne, ctx } = scenes;
  const tag = `${MARK}-bulk`;
  const range = { from: new Date(ctx.clock()), to: new Date(ctx.clock() + DAY / 8) };
  const bulk = (action: string, more: object = {}): Promise<Answer["json"]> =>
    ok("POST", "/jobs/bulk", { action, topic: "work", tag, ...range, ...more });
  for (const key of [newKey(), undefined])
    await fileByApi("work", { delay: "1h", tag, ...(key === undefined ? {} : { key }) });
  await pullOne("work", { tag });
  expect(await bulk("move", { delay: "2h", dryRun: true })).toMatchObject({ matched: 3, changed: 0 });
  expect(await bulk("move", { delay: "2h" })).toMatchObject({ changed: 2, skipped: { "job-running": 1 } });
  expect(await bulk("run", { ratePerSecond: 1 })).toMatchObject({ changed: 2 });
  expect(await bulk("cancel")).toMatchObject({ changed: 2 });
  for (const key of [newKey(), undefined]) {
    const { receipt } = await pullOne("work", { tag, ...(key === undefined ? {} : { key }) });
    await ok("POST", "/topics/work/bury", { receipt, error: "hopeless" });
  }
  expect(await bulk("redrive", { to: undefined })).toMatchObject({ changed: 2 });
  const none = { action: "cancel", topic: "work", tag: `${MARK}-none` };
  const token = `${MARK}-once-bulk`;
  for (let i = 0; i < 2; i++) await ok("POST", "/jobs/bulk", none, { "idempotency-key": token });
  await scenes.outliveBulk(none, token);
  await ok("POST", "/jobs/bulk", none, { "idempotency-key": token });
}

/** Erases jobs that wait, run and are dead, with their keys, letters and once items. */
export async function eraseJobs({ ok, newKey, fileByApi, pullOne }: Scenes): Promise<void> {
  const tag = `${MARK}-erased`;
  await fileByApi("orders", { delay: "1h", tag, key: newKey() });
  await ok("POST", "/jobs", { ...far, tag }, once("erased"));
  const { receipt } = await pullOne("work", { tag, key: newKey() });
  await ok("POST", "/topics/work/bury", { receipt, error: "hopeless" });
  await pullOne("work", { tag });
  await ok("GET", "/jobs/export");
  const counted = await ok("POST", "/jobs/erase", { tag, dryRun: true });
  expect(counted).toMatchObject({ matched: 4, changed: 0 });
  const done = await ok("POST", "/jobs/erase", { tag });
  expect(done).toMatchObject({ changed: 3, skipped: { "job-running": 1 } });
}

export async function produce(scenes: Scenes): Promise<void> {
  const { newKey, withoutSqs } = scenes;
  const { producer, inHandler } = scenes;
  const key = newKey();
  const options = { delay: "1h" as const, ...secrets };
  const { id } = await producer.enqueue("orders", marked(), { ...options, key });
  await producer.enqueue("orders", marked(), { ...options, key, onDuplicate: "keep" });
  // Without `cancelOn`, the key item and the home are two writes.
  await producer.enqueue("work", marked(), { ...options, key: newKey() });
  const near = { delay: 30, key: newKey(), onDuplicate: "keep" } as const;
  for (let i = 0; i < 2; i++) await producer.enqueue("orders", marked(), near);
  await producer.enqueue("orders", marked(), { ...options, key, onDuplicate: "replace" });
  expect((await producer.get({ topic: "orders", key })).id).toBe(id);
  for (const onDuplicate of ["keep", "replace"] as const) {
    await producer.enqueue("orders", marked(), { ...options, key, onDuplicate, idempotencyKey: newKey() });
  }
  const once = { delay: "1h", idempotencyKey: newKey() } as const;
  const body = marked();
  const first = await producer.enqueue("orders", body, once);
  expect((await producer.enqueue("orders", body, once)).id).toBe(first.id);
  const pair = [1, 2].map(() => ({ topic: "orders", body: marked(), delay: "1h" as const }));
  await producer.enqueueMany(pair, { idempotencyKey: newKey() });
  await producer.enqueue("events", marked(), { delay: 215, idempotencyKey: newKey() });
  await producer.get(id);
  await producer.reschedule(id, { delay: 0 });
  const prolonged = await scenes.file("orders", { dueAt: scenes.ctx.clock() + DAY });
  await producer.reschedule(prolonged.id, { delay: "30d" });
  await producer.cancel(id);
  await producer.enqueue("orders", marked(), { ...options, key });
  const jobs = TOPICS.map((topic) => ({ topic, body: marked(), delay: 0 }));
  await producer.enqueueMany(jobs);
  await withoutSqs(() => producer.enqueueMany(jobs.slice(0, 2)));
  const filed = await producer.enqueueMany(jobs.map((job) => ({ ...job, delay: "1h" })));
  await producer.cancelMany(filed.map((job) => (job instanceof Error ? "" : job.id)));
  const late = await producer.enqueue("events", marked(), { delay: 215 });
  await expect(producer.cancel(late.id)).rejects.toMatchObject({ code: "untracked-topic" });
  const running = { id, chain: `${id}.${COUNTED_GENERATION - 1}` };
  await inHandler(running, () => producer.enqueue("orders", marked(), { delay: "1h" }));
}

/** Pauses, resumes and limits of a topic: the API's calls for them, and calls of the API and a producer that file jobs meanwhile. */
export async function pauseEveryWay(scenes: Scenes): Promise<void> {
  await pauseEachTopic(scenes);
  await parkJobs(scenes);
  await resumeInTicks(scenes);
  await resumeWhileFiling(scenes);
  await parkForLackOfStarts(scenes);
}

async function pauseEachTopic(scenes: Scenes): Promise<void> {
  const { ok, hold, ctx, pass, tick } = scenes;
  await ctx.pool.remove([pauseKey("precise")], ctx.clock() + MINUTE);
  pass(6 * SECOND);
  for (const topic of TRACKED) {
    await ok("POST", `/topics/${topic}/pause`);
    await ok("POST", `/topics/${topic}/resume`);
  }
  // This topic was paused before it became untracked.
  await hold("notes");
  await ok("POST", "/topics/notes/resume");
  // This releases the jobs that other scenes have left parked. Some are released ahead of their starts.
  pass(4 * MINUTE);
  await tick();
}

/** Files jobs during a pause, resumes with a rate, and pauses again. */
async function parkJobs({ ok, fileByApi, home, meanwhile, pass, producer }: Scenes): Promise<void> {
  await ok("POST", "/topics/orders/pause");
  await ok("POST", "/topics/orders/pause");
  const id = await fileByApi("orders");
  const jobs = [1, 2].map(() => ({ topic: "orders", body: marked(), delay: 0 }));
  await ok("POST", "/jobs/batch", { jobs });
  pass(6 * SECOND);
  await producer.enqueueMany(jobs);
  expect(await ok("GET", "/topics/orders")).toMatchObject({ pause: { state: "paused", parked: 5 } });
  await ok("POST", "/topics/orders/resume", { ratePerSecond: 10 });
  expect((await home(id)).heldUntil).toBeDefined();
  await meanwhile([[isPause, () => pass(6 * SECOND)]], () => ok("POST", "/topics/orders/pause"));
  pass(6 * SECOND);
  await fileByApi("orders");
}

async function resumeInTicks({ ok, meanwhile, pass, tick }: Scenes): Promise<void> {
  // The call stops waiting after some seconds. Ticks release the other jobs, and end the resume.
  const answer = await meanwhile([[isPause, () => pass(6 * SECOND)]], () =>
    ok("POST", "/topics/orders/resume", {}),
  );
  expect(answer).toMatchObject({ released: 0, left: expect.any(Number) });
  await tick();
  expect(await ok("POST", "/topics/orders/resume")).toMatchObject({ left: 0 });
}

async function resumeWhileFiling({
  ctx,
  fileByApi,
  meanwhile,
  hold,
  letGo,
  producer,
}: Scenes): Promise<void> {
  const free: Step[] = [[isNote, () => resumeTopic(ctx, "orders", undefined)]];
  const files = [() => fileByApi("orders"), () => producer.enqueue("orders", marked(), { delay: 0 })];
  for (const file of files) {
    await hold("orders");
    await meanwhile<unknown>(free, file);
    await letGo("orders");
  }
}

async function parkForLackOfStarts(scenes: Scenes): Promise<void> {
  const { ok, fileByApi, hold, fill, pass, producer } = scenes;
  await fill("orders");
  const late = await fileByApi("orders");
  await fill("orders");
  const other = await producer.enqueue("orders", marked(), { delay: 0 });
  for (const held of [late, other.id]) expect(await scenes.isParked(held)).toBe(true);
  pass(2 * SECOND);
  expect(await producer.get(other.id)).toMatchObject({ held: true });
  // A resume finds no start for these jobs either. It notes that, and calls that file further jobs read the note.
  await hold("orders");
  expect(await ok("POST", "/topics/orders/resume")).toMatchObject({ released: 0, left: 2 });
  pass(11 * MINUTE);
}

const isTracked = (topic: string): boolean => (TRACKED as readonly string[]).includes(topic);

export async function comeRound(scenes: Scenes): Promise<void> {
  const { call, ok, fill, hold, letGo, meanwhile, occurrenceOf, withoutSqs } = scenes;
  const { ctx, occur, pass } = scenes;
  for (const topic of TOPICS) {
    const path = `/schedules/hourly-${topic}`;
    const wanted = { topic, body: marked(), expression: "rate(1 hour)", ...secrets };
    await ok("PUT", path, wanted);
    await ok("PUT", path, { ...wanted, flexibleWindow: "5m" });
    await ok("GET", path);
    await ok("GET", "/schedules");
    await ok("POST", `${path}/pause`);
    await ok("POST", `${path}/resume`);
    await ok("POST", `${path}/run`, undefined, { "idempotency-key": `${MARK}-run` });

    const next = async () => occurrenceOf(`hourly-${topic}`, ctx.clock());
    const event = await next();
    await occur(event);
    await occur(event);
    if (isTracked(topic)) {
      await hold(topic);
      await occur(await next());
      await meanwhile([[isNote, () => resumeTopic(ctx, topic, undefined)]], async () => {
        pass(SECOND);
        await occur(await next());
      });
      await letGo(topic);
      await fill(topic);
      await occur(await next());
      pass(11 * MINUTE);
    }
    if (topic === "orders") await withoutSqs(async () => occur(await next()));
    pass(11 * MINUTE);
    await ok("DELETE", path);
    expect((await call("GET", path)).status).toBe(404);
  }
}
