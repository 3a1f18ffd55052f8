import { GetScheduleCommand } from "@aws-sdk/client-scheduler";
import { PurgeQueueCommand, SendMessageCommand } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { type Home, keyKey, minuteOf, startsKey, ttl } from "../../core/items.ts";
import { deadText, jobText, messageText } from "../../core/message.ts";
import { cancelByEvent } from "../../protocol/cancel-by-event.ts";
import { claim } from "../../protocol/claim.ts";
import { enqueue, enqueueMany } from "../../protocol/enqueue.ts";
import type { NewJob } from "../../protocol/new-job.ts";
import { lift, pause } from "../../protocol/pause.ts";
import { readJob } from "../../protocol/read-job.ts";
import { type Answer, type ConsumedTopic, type Deployment, LIMIT, MARK } from "./deployment.ts";
import type { AwsRequest } from "./rights.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** A body that a consumer runs as it says, and that no log may hold. */
export const marked = (more: object = {}) => ({ text: `${MARK} body`, ...more });
const secrets = { headers: { h: `${MARK} header` }, tag: `${MARK}-tag`, group: `${MARK}-group` };

const TRACKED = ["orders", "precise", "work", "hooks"] as const;
const TOPICS = [...TRACKED, "notes", "events"] as const;

type Job = { id: string; receipt: string };

/** What is done before the first request of a kind leaves. */
type Step = [is: (request: AwsRequest) => boolean, act: () => unknown];

const partitionOf = (item: unknown) => String((item as { pk?: { S: string } } | undefined)?.pk?.S);
const isReceive = ({ operation }: AwsRequest) => operation === "ReceiveMessage";
/** Notes one parked job. */
const isNote = ({ operation, input }: AwsRequest) =>
  operation === "PutItem" && partitionOf(input.Item).startsWith("paused#");
/** Changes a pause that is there. */
const isPause = ({ operation, input }: AwsRequest) =>
  operation === "UpdateItem" && partitionOf(input.Key).startsWith("pause#");

/** What the scenes below are made of. */
export function createScenes(deployment: Deployment) {
  const { ctx, call, sqs, scheduler, urlPrefix, receivers, pass, recorder } = deployment;
  const ok = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answered = await call(method, path, body, headers);
    expect({ method, path, ...answered }).toSatisfy(({ status }: Answer) => status < 300);
    return answered.json;
  };
  const scenes = {
    ok,
    newKey: () => `${MARK}-key-${keys++}`,
    fileByApi: async (topic: string, more: object = {}) =>
      String((await ok("POST", "/jobs", { topic, body: marked(), delay: 0, ...more })).id),
    /** Filed by somebody else. */
    file: async (topic: string, more: Partial<NewJob> = {}) => {
      const job: NewJob = { topic, body: JSON.stringify(marked()), dueAt: ctx.clock(), ...more };
      if (topic === "hooks") job.callbackUrl = `${receivers.url}?token=${MARK}`;
      return (await enqueue(ctx, job)).home;
    },
    home: (id: string): Promise<Home> => readJob(ctx, id),
    messageFor: (home: Home) => messageText(home.topic, home.group, [jobText(home)]),
    /** Somebody's claim whose process has died since. */
    crash: async (home: Home, meanwhile?: () => Promise<void>) => {
      const { id, revision } = home;
      const job = { id, revision, attempt: 1, dueAt: new Date(home.dueAt).toISOString(), body: null };
      await claim(ctx, home.topic, [job], ctx.clock() + SECOND);
      await meanwhile?.();
      pass(20 * SECOND);
    },
    /** An event cancels the job of a key elsewhere. */
    disown: (topic: string, key = "") => {
      const at = ctx.clock();
      return cancelByEvent(ctx, { id: `event ${key}`, topic, key, at, until: at });
    },
    /** A dead letter as SQS's own redrive puts it into the ready queue. */
    deadLetter: async (id: string) => deadText(await readJob(ctx, id), "died"),
    put: (topic: string, text: string) =>
      sqs.send(new SendMessageCommand({ QueueUrl: `${urlPrefix}${topic}`, MessageBody: text })),
    purge: (topic: string) => sqs.send(new PurgeQueueCommand({ QueueUrl: `${urlPrefix}${topic}` })),
    pull: async (topic: string): Promise<Job[]> =>
      (await ok("POST", `/topics/${topic}/receive`, { max: 10 })).jobs as Job[],
    pullOne: async (topic: string, more: object = {}): Promise<Job> => {
      const id = await scenes.fileByApi(topic, more);
      // There may be others before it.
      for (let i = 0; i < 20; i++) {
        const job = (await scenes.pull(topic)).find((pulled) => pulled.id === id);
        if (job) return job;
      }
      throw new Error(`${id} did not come`);
    },
    /** While `work` runs no message reaches SQS. */
    withoutSqs: async <T>(work: () => Promise<T>): Promise<T> => {
      recorder.before = ({ operation }) => {
        if (operation === "SendMessageBatch")
          throw Object.assign(new Error("down"), { code: "ECONNREFUSED" });
      };
      const result = await work();
      recorder.before = () => {};
      return result;
    },
    /** While `work` runs no key is let go, as by a process that has died. */
    losingKeys: async <T>(work: () => Promise<T>): Promise<T> => {
      recorder.before = ({ operation, input }) => {
        if (operation === "UpdateItem" && partitionOf(input.Key).startsWith("key#")) throw new Error("died");
      };
      const result = await work();
      recorder.before = () => {};
      return result;
    },
    /** While `work` runs, time passes after each request of this operation has left. */
    whilePassing: async <T>(operation: string, ms: number, work: () => Promise<T>): Promise<T> => {
      recorder.before = (request) => request.operation === operation && pass(ms);
      const result = await work();
      recorder.before = () => {};
      return result;
    },
    /** While `work` runs, each of these happens once. */
    meanwhile: async <T>(steps: readonly Step[], work: () => Promise<T>): Promise<T> => {
      const left = new Set(steps);
      recorder.before = async (request) => {
        const step = [...left].find(([is]) => is(request));
        if (!step) return;
        left.delete(step);
        await step[1]();
      };
      const result = await work();
      recorder.before = () => {};
      expect(left).toEqual(new Set());
      return result;
    },
    /** Pauses a topic elsewhere, until every function knows. */
    hold: async (topic: string) => {
      await pause(ctx, topic);
      pass(6 * SECOND);
    },
    /** Resumes it elsewhere. */
    letGo: async (topic: string) => {
      await lift(ctx, topic, undefined);
      pass(6 * SECOND);
    },
    /** Somebody else's backlog has all of a topic's starts for the next ten minutes. */
    fill: async (topic: string) => {
      const counts = Array.from({ length: 60 }, (_, second) => [`s${second}`, LIMIT.maxPerSecond] as const);
      for (let i = 0; i < 10; i++) {
        const minute = minuteOf(ctx.clock()) + i * MINUTE;
        const key = startsKey(topic, minute);
        await ctx.pool.count(key, Object.fromEntries(counts), ttl(minute + DAY), ctx.clock() + MINUTE);
      }
    },
    /** What Scheduler gives the target of a recurring schedule when it comes round at `time`. */
    occurrenceOf: async (name: string, time: number) => {
      const place = { GroupName: "minutehand-schedules", Name: name };
      const { Target } = await scheduler.send(new GetScheduleCommand(place));
      const at = `${new Date(time).toISOString().slice(0, 19)}Z`;
      return JSON.parse((Target?.Input ?? "").replace("<aws.scheduler.scheduled-time>", at)) as unknown;
    },
  };
  return { ...deployment, ...scenes };
}

let keys = 0;

export type Scenes = ReturnType<typeof createScenes>;

/** Meets every path of the code that calls DynamoDB or SQS, and every outcome of the HTTP API's routes. */
export async function runEveryPath(deployment: Deployment): Promise<void> {
  const scenes = createScenes(deployment);
  await deployment.tick();
  await callEveryRoute(scenes);
  await pullEveryWay(scenes);
  await pullHeld(scenes);
  for (const topic of ["orders", "precise", "hooks"] as const) {
    await consumeEveryWay(scenes, topic);
    await consumeHeld(scenes, topic);
  }
  await consumeUntracked(scenes);
  await produce(scenes);
  await pauseEveryWay(scenes);
  await fileFarAhead(scenes);
  await comeRound(scenes);
  await tickEveryWay(scenes);
  await comeAbout(scenes);
}

async function callEveryRoute(scenes: Scenes): Promise<void> {
  const { ok, newKey, fileByApi, pullOne, withoutSqs, whilePassing } = scenes;
  const { call, ctx } = scenes;
  const once = (name: string) => ({ "idempotency-key": `${MARK}-once-${name}` });
  const far = { topic: "orders", body: marked(), delay: "1h", ...secrets };

  for (const path of ["/health", "/openapi.json", "/topics", "/topics/orders", "/topics/work"])
    await ok("GET", path);
  for (const [name, topic] of [
    ["a", "orders"],
    ["b", "work"],
    ["c", "events"],
  ] as const) {
    await ok("POST", "/jobs", { ...far, topic, delay: topic === "events" ? 0 : "1h" }, once(name));
    await ok("POST", "/jobs", { ...far, topic, delay: topic === "events" ? 0 : "1h" }, once(name));
  }
  expect((await call("POST", "/jobs", { ...far, delay: "2h" }, once("a"))).status).toBe(422);
  const jobs = [far, { ...far, topic: "work", delay: 0 }, { topic: "nobody" }, { ...far, key: newKey() }];
  await ok("POST", "/jobs/batch", { jobs }, once("batch"));
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

  const key = newKey();
  const id = await fileByApi("orders", { delay: "1h", key });
  expect((await call("POST", "/jobs", { ...far, key })).status).toBe(409);
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "keep" });
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "keep" }, once("kept"));
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "replace" });
  await ok("POST", "/jobs", { ...far, key, onDuplicate: "replace" }, once("replaced"));
  await ok("PUT", `/topics/orders/jobs/${key}`, { body: marked(), delay: "2h" });
  await ok("GET", `/topics/orders/jobs/${key}`);
  await ok("GET", `/jobs/${id}`);
  await ok("PATCH", `/jobs/${id}`, { delay: 0, body: marked({ n: 2 }) });
  await ok("DELETE", `/topics/orders/jobs/${key}`);
  await ok("DELETE", `/jobs/${id}`);
  // The key is free again, and its last holder is held to that.
  await ok("PUT", `/topics/orders/jobs/${key}`, { body: marked(), delay: "1h" });
  const ids = [
    await fileByApi("orders"),
    await fileByApi("work"),
    await fileByApi("events", { delay: "1h" }),
  ];
  await ok("POST", "/jobs/cancel", { ids: [...ids, ids[0], "none", "01ARZ3NDEK00SV4RRFFQ69G5FA"] });
  const late = await fileByApi("events", { delay: 215 });
  expect(
    (await whilePassing("BatchExecuteStatement", 6 * SECOND, () => call("DELETE", `/jobs/${late}`))).status,
  ).toBe(409);
  expect((await call("GET", "/jobs/01ARZ3NDEK00SV4RRFFQ69G5FA")).status).toBe(404);

  const from = new Date(ctx.clock() - DAY / 8).toISOString();
  await ok("GET", `/jobs?from=${from}`);
  await ok("GET", "/forecast");
  await callBulks(scenes);

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
  await ok("GET", "/topics/work/dead");
  await forgetKeyOf(scenes, buried[0]?.id ?? "");
  await ok("POST", "/topics/work/redrive", { ids: buried.map((job) => job.id), delay: "1h" });
  await ok("POST", "/topics/work/redrive", {});
}

/** Each action, dry and not, over jobs that it finds waiting, running and dead. */
async function callBulks({ ok, newKey, fileByApi, pullOne, ctx }: Scenes): Promise<void> {
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
}

/** As TTL does with the key of a finished job. */
async function forgetKeyOf({ ctx }: Scenes, id: string): Promise<void> {
  const home = await readJob(ctx, id);
  await ctx.pool.remove([keyKey(home.topic, home.key ?? "")], ctx.clock() + MINUTE);
}

async function pullEveryWay(scenes: Scenes): Promise<void> {
  const { ok, newKey, file, fileByApi, home, messageFor, crash, put, pull, pullOne, withoutSqs } = scenes;
  const { pass } = scenes;
  await pull("work");

  await fileByApi("work", { expiresAfter: 1, key: newKey() });
  pass(5 * SECOND);
  const skipped = await file("work", { dueAt: 9e12, key: newKey() });
  await put("work", messageFor({ ...skipped, dueAt: Date.now() - DAY }));
  await pull("work");
  expect((await home(skipped.id)).state).toBe("cancelled");
  const finished = [await file("work", { dueAt: 9e12 }), await file("work", { dueAt: 9e12 })];
  for (const { id } of finished) await ok("DELETE", `/jobs/${id}`);
  const moved = await file("work", { dueAt: Date.now() + 30 * MINUTE });
  await ok("PATCH", `/jobs/${moved.id}`, { delay: 60 });
  const crashed = [
    await file("work"),
    await file("work", { maxAttempts: 1, key: newKey() }),
    await file("work"),
  ];
  await scenes.purge("work");
  for (const one of crashed) await crash(one);
  for (const one of [...finished, moved, ...crashed.slice(0, 2)])
    await put("work", messageFor({ ...one, dueAt: Date.now() }));
  await pull("work");
  // A retry that SQS does not take gets a look.
  await put("work", messageFor(crashed[2] as Home));
  await withoutSqs(() => pull("work"));
  await put("work", messageFor(await file("work", { dueAt: Date.now() + 10 * MINUTE })));
  await put("work", `${MARK}: no message of ours`);
  await pull("work");
  expect(await home(crashed[1]?.id ?? "")).toMatchObject({ state: "dead" });
  const disowned = await file("work", { key: newKey() });
  await scenes.purge("work");
  await crash(disowned, () => scenes.disown("work", disowned.key));
  await put("work", messageFor(disowned));
  await pull("work");
  expect(await home(disowned.id)).toMatchObject({ state: "cancelled" });

  const buried = [
    await pullOne("work", { key: newKey() }),
    await pullOne("work", { key: newKey() }),
    await pullOne("work"),
  ];
  for (const { receipt } of buried) await ok("POST", "/topics/work/bury", { receipt });
  await forgetKeyOf(scenes, buried[0]?.id ?? "");
  for (const { id } of buried) await put("work", await scenes.deadLetter(id));
  await pull("work");
  for (const { id } of buried)
    expect(await home(id)).toMatchObject({ state: expect.stringMatching(/sched|run/) });
  const key = newKey();
  const outrun = await pullOne("work", { key });
  await ok("POST", "/topics/work/bury", { receipt: outrun.receipt });
  await file("work", { key, dueAt: Date.now() + DAY });
  await put("work", await scenes.deadLetter(outrun.id));
  await pull("work");
  expect((await home(outrun.id)).state).toBe("dead");

  await file("events", { expiresAfter: 1 });
  pass(5 * SECOND);
  await pull("events");
  await put("events", messageFor({ ...(await file("events")), dueAt: Date.now() + 10 * MINUTE }));
  await pull("events");
}

/** A pause that begins while a call waits for messages, or ends while it notes a job. */
async function pullHeld(scenes: Scenes): Promise<void> {
  const { file, home, hold, letGo, meanwhile, pull, purge } = scenes;
  await purge("work");
  await hold("work");
  expect(await pull("work")).toEqual([]);
  await letGo("work");
  const parked = [await file("work"), await file("work")];
  expect(await meanwhile([[isReceive, () => hold("work")]], () => pull("work"))).toEqual([]);
  for (const { id } of parked) expect(await home(id)).toMatchObject({ state: "scheduled" });
  await letGo("work");
  const freed = await file("work");
  const steps: Step[] = [
    [isReceive, () => hold("work")],
    [isNote, () => lift(scenes.ctx, "work", undefined)],
  ];
  expect(await meanwhile(steps, () => pull("work"))).toMatchObject([{ id: freed.id }]);
  // A crashed run's next attempt, when others have all starts.
  const crashed = await file("work");
  await purge("work");
  await scenes.crash(crashed);
  await scenes.fill("work");
  await scenes.put("work", scenes.messageFor(crashed));
  await pull("work");
  expect((await home(crashed.id)).heldUntil).toBeGreaterThan(scenes.ctx.clock() + 5 * MINUTE);
  scenes.pass(11 * MINUTE);
  const { id } = await file("events");
  expect(await meanwhile([[isReceive, () => hold("events")]], () => pull("events"))).toEqual([]);
  await letGo("events");
  expect((await pull("events")).map((job) => job.id)).toContain(id);
}

/** What a pause and a limit make of the jobs that a consumer meets. */
async function consumeHeld(scenes: Scenes, topic: ConsumedTopic): Promise<void> {
  const { file, fill, home, hold, meanwhile, messageFor } = scenes;
  const { consume, ctx, pass } = scenes;
  const waiting = [await file(topic), await file(topic)];
  await hold(topic);
  expect(await consume(topic, waiting.map(messageFor))).toEqual({ batchItemFailures: [] });
  for (const { id } of waiting) expect(await home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
  const freed = await file(topic);
  const steps: Step[] = [[isNote, () => lift(ctx, topic, undefined)]];
  await meanwhile(steps, () => consume(topic, [messageFor(freed)]));
  expect(await home(freed.id)).toMatchObject({ state: "done" });
  pass(6 * SECOND);

  const failing = await file(topic, { body: JSON.stringify(marked({ fails: "no bank" })) });
  await fill(topic);
  await consume(topic, [messageFor(failing)]);
  expect((await home(failing.id)).heldUntil).toBeGreaterThan(ctx.clock() + 5 * MINUTE);
  pass(11 * MINUTE);
}

async function consumeEveryWay(scenes: Scenes, topic: ConsumedTopic): Promise<void> {
  const { file, home, messageFor, crash, newKey, ok, deadLetter, withoutSqs } = scenes;
  const { consume, pass } = scenes;
  const body = (more: object) => JSON.stringify(marked(more));
  const endings: Partial<NewJob>[] = [
    { key: newKey(), headers: secrets.headers },
    {},
    { body: body({ fails: "no bank" }) },
    { body: body({ fails: "no bank" }), maxAttempts: 1, key: newKey() },
    { body: body({ bury: "closed" }), key: newKey() },
    { body: body({ bury: "closed" }), key: newKey() },
    { body: body({ bury: "closed" }) },
    { body: body({ retryIn: "1h", retryUntil: "9999" }) },
  ];
  const homes: Home[] = [];
  for (const more of endings) homes.push(await file(topic, more));
  const states = async () => Promise.all(homes.map(async ({ id }) => (await home(id)).state));
  expect(await consume(topic, homes.map(messageFor))).toEqual({ batchItemFailures: [] });
  expect(await states()).toEqual("done done scheduled dead dead dead dead scheduled".split(" "));

  // Their messages once more: duplicates, and one that was moved and is due.
  pass(16 * SECOND);
  await consume(topic, homes.map(messageFor));
  const dead = homes.slice(4, 7);
  await forgetKeyOf(scenes, dead[0]?.id ?? "");
  for (const { id } of dead) await consume(topic, [await deadLetter(id)]);
  expect((await states()).slice(4, 7)).toEqual(["scheduled", "scheduled", "scheduled"]);
  // One whose key names another by now goes back to its DLQ.
  const outrun = homes[3] as Home;
  await file(topic, { key: outrun.key ?? "", dueAt: Date.now() + DAY });
  await consume(topic, [await deadLetter(outrun.id)]);
  expect((await home(outrun.id)).state).toBe("dead");

  const expired = await file(topic, { expiresAfter: 1, key: newKey() });
  pass(5 * SECOND);
  const skipped = await file(topic, { dueAt: 9e12, key: newKey() });
  await consume(topic, [messageFor(expired), messageFor({ ...skipped, dueAt: Date.now() - DAY })]);
  expect((await home(skipped.id)).state).toBe("cancelled");
  const crashed = [
    await file(topic),
    await file(topic, { maxAttempts: 1, key: newKey() }),
    await file(topic),
  ];
  for (const one of crashed) await crash(one);
  await consume(topic, crashed.slice(0, 2).map(messageFor));
  await withoutSqs(() => consume(topic, [messageFor(crashed[2] as Home)]));
  const disowned = await file(topic, { key: newKey() });
  await crash(disowned, () => scenes.disown(topic, disowned.key));
  await consume(topic, [messageFor(disowned)]);
  expect(await home(disowned.id)).toMatchObject({ state: "cancelled" });
  const moved = await file(topic, { dueAt: Date.now() + 30 * MINUTE });
  await ok("PATCH", `/jobs/${moved.id}`, { delay: 60 });
  await consume(topic, [messageFor({ ...moved, dueAt: Date.now() })]);
  const early = await file(topic, { dueAt: Date.now() + 10 * MINUTE });
  const late = await file(topic);
  await consume(topic, [messageFor(early), `${MARK}: no message of ours`, `{"${MARK}"`]);
  await consume(topic, [messageFor(late)], 0);
}

/** Nothing of an untracked job is stored, and its dead letters do not say that they are. */
async function consumeUntracked(scenes: Scenes): Promise<void> {
  const { file, messageFor } = scenes;
  const { consume, pass } = scenes;
  const job = (more: object = {}) => file("notes", { body: JSON.stringify(marked(more)) });
  await consume("notes", [
    messageFor(await job()),
    messageFor(await job({ fails: "no bank" })),
    messageFor({ ...(await job({ fails: "no bank" })), attempt: 1 }),
    messageFor(await job({ bury: "closed" })),
    messageFor(await job({ retryIn: "1h", retryUntil: "9999" })),
  ]);
  const expiring = await file("notes", { expiresAfter: 1 });
  pass(5 * SECOND);
  await consume("notes", [messageFor(expiring)]);
  await consume("notes", [messageFor({ ...expiring, dueAt: Date.now() + 10 * MINUTE })]);
  await consume("notes", [messageFor(await job())], 0);
}

async function produce(scenes: Scenes): Promise<void> {
  const { newKey, withoutSqs, whilePassing } = scenes;
  const { producer } = scenes;
  const key = newKey();
  const options = { delay: "1h", ...secrets };
  const { id } = await producer.enqueue("orders", marked(), { ...options, key });
  await producer.enqueue("orders", marked(), { ...options, key, onDuplicate: "keep" });
  await producer.enqueue("orders", marked(), { ...options, key, onDuplicate: "replace" });
  expect((await producer.getByKey("orders", key)).id).toBe(id);
  for (const onDuplicate of ["keep", "replace"] as const) {
    await producer.enqueue("orders", marked(), { ...options, key, onDuplicate, idempotencyKey: newKey() });
  }
  for (const topic of ["orders", "events"] as const) {
    const once = { delay: topic === "events" ? 0 : "1h", idempotencyKey: newKey() };
    const body = marked();
    const first = await producer.enqueue(topic, body, once);
    expect((await producer.enqueue(topic, body, once)).id).toBe(first.id);
  }
  await producer.get(id);
  await producer.reschedule(id, { delay: 0 });
  await producer.cancel(id);
  await producer.enqueue("orders", marked(), { ...options, key });
  const jobs = TOPICS.map((topic) => ({ topic, body: marked(), delay: 0 }));
  await producer.enqueueMany(jobs);
  await withoutSqs(() => producer.enqueueMany(jobs.slice(0, 2)));
  const filed = await producer.enqueueMany(jobs.map((job) => ({ ...job, delay: "1h" })));
  await producer.cancelMany(filed.map((job) => (job instanceof Error ? "" : job.id)));
  const late = await producer.enqueue("events", marked(), { delay: 215 });
  const cancelled = whilePassing("BatchExecuteStatement", 6 * SECOND, () => producer.cancel(late.id));
  await expect(cancelled).rejects.toMatchObject({ code: "job-handed-off" });
  await producer.enqueue("orders", marked(), { delay: "1h" });
}

/** Pauses, resumes and limits, by the API and as its calls and a producer's meet them. */
async function pauseEveryWay(scenes: Scenes): Promise<void> {
  const { ok, fileByApi, fill, hold, home, letGo, meanwhile } = scenes;
  const { ctx, pass, producer, tick } = scenes;
  const free = (topic: string): Step[] => [[isNote, () => lift(ctx, topic, undefined)]];
  for (const topic of TOPICS) {
    await ok("POST", `/topics/${topic}/pause`);
    await ok("POST", `/topics/${topic}/resume`);
  }
  // Lets go what other scenes have left parked.
  await tick();
  for (const topic of ["orders", "notes"]) {
    await ok("POST", `/topics/${topic}/pause`);
    await ok("POST", `/topics/${topic}/pause`);
    const id = await fileByApi(topic);
    const jobs = [1, 2].map(() => ({ topic, body: marked(), delay: 0 }));
    await ok("POST", "/jobs/batch", { jobs });
    pass(6 * SECOND);
    await producer.enqueueMany(jobs);
    expect(await ok("GET", `/topics/${topic}`)).toMatchObject({ pause: { state: "paused", parked: 5 } });
    await ok("POST", `/topics/${topic}/resume`, { ratePerSecond: 10 });
    expect((await home(id)).heldUntil).toBeDefined();
    await meanwhile([[isPause, () => pass(6 * SECOND)]], () => ok("POST", `/topics/${topic}/pause`));
    pass(6 * SECOND);
    await fileByApi(topic);
    // The caller does not wait for ever: ticks do the rest, and end it.
    const answer = await meanwhile([[isPause, () => pass(6 * SECOND)]], () =>
      ok("POST", `/topics/${topic}/resume`, {}),
    );
    expect(answer).toMatchObject({ released: 0, left: expect.any(Number) });
    await tick();
    expect(await ok("POST", `/topics/${topic}/resume`)).toMatchObject({ left: 0 });
    const files = [() => fileByApi(topic), () => producer.enqueue(topic, marked(), { delay: 0 })];
    for (const file of files) {
      await hold(topic);
      await meanwhile<unknown>(free(topic), file);
      await letGo(topic);
    }
    await fill(topic);
    const late = await fileByApi(topic);
    const other = await producer.enqueue(topic, marked(), { delay: 0 });
    for (const held of [late, other.id])
      expect((await home(held)).heldUntil).toBeGreaterThan(ctx.clock() + 5 * MINUTE);
    pass(11 * MINUTE);
  }
}

/** The schedules beside far jobs, and what their target does. */
async function fileFarAhead(scenes: Scenes): Promise<void> {
  const { ok, file, fileByApi, fill, hold, home, letGo, meanwhile, newKey } = scenes;
  const { ctx, pass, producer, promote } = scenes;
  const id = await fileByApi("orders", { delay: "30d" });
  expect((await home(id)).hasSchedule).toBe(true);
  await ok("PATCH", `/jobs/${id}`, { delay: "60d" });
  await ok("PATCH", `/jobs/${id}`, { delay: "1h" });
  await ok("DELETE", `/jobs/${await fileByApi("orders", { delay: "30d", key: newKey() })}`);
  const far = await producer.enqueue("orders", marked(), { delay: "30d" });
  await producer.reschedule(far.id, { delay: "60d" });
  await producer.cancel(far.id);

  for (const topic of TRACKED) await promote({ id: (await file(topic)).id });
  const soon = () => file("orders", { dueAt: ctx.clock() + 5 * MINUTE });
  await promote({ id: (await soon()).id });
  await promote({ id: (await file("orders", { dueAt: ctx.clock() + DAY })).id });
  await hold("orders");
  const parked = await soon();
  await promote({ id: parked.id });
  // As one that names an untracked job by hand.
  await hold("notes");
  await promote({ id: (await file("notes", { dueAt: ctx.clock() + 5 * MINUTE })).id });
  await letGo("notes");
  const steps: Step[] = [[isNote, () => lift(ctx, "orders", undefined)]];
  await meanwhile(steps, async () => promote({ id: (await soon()).id }));
  pass(6 * SECOND);
  await fill("orders");
  const late = await soon();
  await promote({ id: late.id });
  expect((await home(late.id)).heldUntil).toBeGreaterThan(ctx.clock() + 8 * MINUTE);
  pass(11 * MINUTE);
}

/** What events do to `orders`: to jobs that wait, run, are done or not there yet, and to those that events have filed. */
async function comeAbout(scenes: Scenes): Promise<void> {
  const { file, fill, hold, home, letGo, meanwhile, newKey, ok, withoutSqs } = scenes;
  const { bring, ctx, pass, producer } = scenes;
  const event = (detailType: string, key: unknown, more: object = {}) =>
    JSON.stringify({
      id: `event-${events++}`,
      source: "shop",
      "detail-type": detailType,
      time: new Date(ctx.clock()).toISOString(),
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

  // Before the job: by the API, a producer and another event; again, while it stands and once it does not.
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
    expect(await bring([first])).toEqual(all);
    expect(await bring([first, event(type, key)])).toEqual(all);
    await ok("DELETE", `/topics/orders/jobs/${key}`);
    expect(await bring([event(type, key)])).toEqual(all);
    await ok("DELETE", `/topics/orders/jobs/${key}`);
  }
  const asked = newKey();
  await withoutSqs(() => bring([event("Asked", asked)]));
  await bring([event("Again", asked), event("Asked", asked)]);

  await hold("orders");
  await bring([event("Asked", newKey())]);
  await meanwhile([[isNote, () => lift(ctx, "orders", undefined)]], () => bring([event("Asked", newKey())]));
  await letGo("orders");
  await fill("orders");
  const late = newKey();
  await bring([event("Asked", late)]);
  expect((await holder(late)).heldUntil).toBeGreaterThan(ctx.clock() + 5 * MINUTE);
  pass(11 * MINUTE);

  const wrong = [`${MARK}: no event`, event("Done", `${MARK} no key`), event("Asked", { key: MARK })];
  expect((await bring(wrong)).batchItemFailures).toHaveLength(3);
}

let events = 0;

/** Recurring schedules: every route, and what their target does. */
async function comeRound(scenes: Scenes): Promise<void> {
  const { call, ok, fill, hold, letGo, meanwhile, occurrenceOf } = scenes;
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
    await hold(topic);
    await occur(await next());
    await meanwhile([[isNote, () => lift(ctx, topic, undefined)]], async () => {
      pass(SECOND);
      await occur(await next());
    });
    await letGo(topic);
    await fill(topic);
    await occur(await next());
    pass(11 * MINUTE);
    await ok("DELETE", path);
    expect((await call("GET", path)).status).toBe(404);
  }
}

async function tickEveryWay(scenes: Scenes): Promise<void> {
  const { file, fill, home, fileByApi, hold, letGo, losingKeys, newKey, ok, purge, pullOne } = scenes;
  const { ctx, tick, tickWithShards, pass, withoutSqs } = scenes;
  const minutes = async (count: number) => {
    for (let i = 0; i < count; i++) {
      pass(MINUTE);
      await tick();
    }
  };
  await minutes(1);

  // Homes, looks, and more of one minute than a page takes.
  const soon = () => Date.now() + 6 * MINUTE;
  for (const topic of TOPICS) await file(topic, { dueAt: soon() });
  for (let i = 0; i < 8; i++) {
    const { id } = await file("orders", { dueAt: Date.now() + DAY });
    await ok("PATCH", `/jobs/${id}`, { delay: "6m" });
  }
  const full = soon() - (soon() % MINUTE);
  const many = Array.from({ length: 1200 }, (): NewJob => ({ topic: "notes", body: "{}", dueAt: full }));
  await enqueueMany(ctx, many);
  // One that no queue is there for: another deployment's topic. Its tick says it is dead.
  const ghost = { topic: "ghost", key: `${MARK}-ghost`, body: "{}" };
  const owner = { ...ctx, policy: { ...ctx.policy, topics: { ...ctx.policy.topics, ghost: {} } } };
  const lost = await enqueue(owner, { ...ghost, dueAt: soon() });
  await minutes(4);
  expect(await home(lost.home.id)).toMatchObject({ state: "dead" });

  // SQS as a whole does not answer; then for one topic only.
  // The tick asks a topic that it had nothing for, each in its turn.
  for (const topics of [
    ["orders", "precise"],
    ["orders", "precise", "notes", "work"],
  ]) {
    for (const topic of topics) for (let i = 0; i < 12; i++) await file(topic, { dueAt: soon() });
    pass(4 * MINUTE);
    await withoutSqs(tick);
    await minutes(4);
  }

  // What falls due in a pause, at a resume's rate, and when others have all starts.
  const held = [await file("orders", { dueAt: soon() }), await file("orders", { dueAt: soon() })];
  const notes = await file("notes", { dueAt: soon() });
  for (const topic of ["orders", "notes"]) await ok("POST", `/topics/${topic}/pause`);
  await minutes(7);
  for (const { id } of [...held, notes]) expect(await home(id)).toMatchObject({ state: "scheduled" });
  for (const topic of ["orders", "notes"])
    await scenes.meanwhile([[isPause, () => pass(6 * SECOND)]], () =>
      ok("POST", `/topics/${topic}/resume`, { ratePerSecond: 1 }),
    );
  await minutes(12);
  await hold("orders");
  await file("orders", { dueAt: soon() });
  await minutes(4);
  await letGo("orders");
  const late = await file("orders", { dueAt: soon() });
  await fill("orders");
  await minutes(4);
  expect((await home(late.id)).heldUntil).toBeDefined();
  await minutes(8);

  // Messages lost, for the audit; a run that goes on; dead letters of jobs that live again and of dead ones.
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
}
