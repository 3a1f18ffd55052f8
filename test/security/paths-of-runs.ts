import { expect } from "vitest";
import { DAY } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { jobText, messageText } from "../../src/core/message.ts";
import { resumeTopic } from "../../src/protocol/change/pause.ts";
import type { NewJob } from "../../src/protocol/new-job.ts";
import { MINUTE, SECOND } from "../support/world.ts";
import { type ConsumedTopic, MARK } from "./deployment.ts";
import { isNote, isReceive, marked, type Scenes, type Step, secrets } from "./scenes.ts";

export async function pullEveryWay(scenes: Scenes): Promise<void> {
  const { file, messageFor, pull, put } = scenes;
  await pull("work");
  await pullTooLate(scenes);
  await pullEnded(scenes);
  await pullDisowned(scenes);
  await pullDeadLetters(scenes);
  await pullOutrun(scenes);
  await pullPack(scenes);
  await pullOfBefore(scenes);
  await put("events", messageFor({ ...(await file("events")), dueAt: Date.now() + 10 * MINUTE }));
  await pull("events");
}

async function pullTooLate({
  newKey,
  fileByApi,
  file,
  home,
  messageFor,
  put,
  pull,
  pass,
}: Scenes): Promise<void> {
  await fileByApi("work", { expiresAfter: 1, key: newKey() });
  pass(5 * SECOND);
  const skipped = await file("work", { dueAt: 9e12, key: newKey() });
  await put("work", messageFor({ ...skipped, dueAt: Date.now() - DAY }));
  await pull("work");
  expect((await home(skipped.id)).state).toBe("cancelled");
}

/** Jobs that have ended, were moved or have crashed, a job that is not due, and a message of nobody. */
async function pullEnded(scenes: Scenes): Promise<void> {
  const { ok, newKey, file, home, messageFor, crash, put, pull, withoutSqs } = scenes;
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
}

async function pullDisowned(scenes: Scenes): Promise<void> {
  const { newKey, file, home, messageFor, crash, put, pull } = scenes;
  const disowned = await file("work", { key: newKey() });
  await scenes.purge("work");
  await crash(disowned, () => scenes.disown("work", disowned.key));
  await put("work", messageFor(disowned));
  await pull("work");
  expect(await home(disowned.id)).toMatchObject({ state: "cancelled" });
}

async function pullDeadLetters(scenes: Scenes): Promise<void> {
  const { ok, newKey, home, put, pull, pullOne } = scenes;
  const buried = [
    await pullOne("work", { key: newKey() }),
    await pullOne("work", { key: newKey() }),
    await pullOne("work"),
  ];
  for (const { receipt } of buried) await ok("POST", "/topics/work/bury", { receipt });
  await scenes.forgetKeyOf(buried[0]?.id ?? "");
  for (const { id } of buried) await put("work", await scenes.deadLetter(id));
  await pull("work");
  for (const { id } of buried)
    expect(await home(id)).toMatchObject({ state: expect.stringMatching(/sched|run/) });
}

async function pullOutrun(scenes: Scenes): Promise<void> {
  const { ok, newKey, file, home, put, pull, pullOne } = scenes;
  const key = newKey();
  const outrun = await pullOne("work", { key });
  await ok("POST", "/topics/work/bury", { receipt: outrun.receipt });
  await file("work", { key, dueAt: Date.now() + DAY });
  await put("work", await scenes.deadLetter(outrun.id));
  await pull("work");
  expect((await home(outrun.id)).state).toBe("dead");
}

/** A message of several jobs. A pull topic can have such messages after its consumer was changed. */
async function pullPack({ file, put, pull }: Scenes): Promise<void> {
  const mates = [await file("work", { dueAt: 9e12 }), await file("work", { dueAt: 9e12 })];
  await put(
    "work",
    messageText(
      "work",
      undefined,
      mates.map((mate) => jobText({ ...mate, dueAt: Date.now() })),
    ),
  );
  await pull("work");
}

/** Jobs that were filed while the topic was tracked: two have crashed, and one is buried. */
async function pullOfBefore(scenes: Scenes): Promise<void> {
  const { ok, home, messageFor, crash, put, pull } = scenes;
  const before = await scenes.fileBefore("events", { maxAttempts: 1 });
  await scenes.purge("events");
  await crash(before);
  await put("events", messageFor(before));
  await pull("events");
  expect(await home(before.id)).toMatchObject({ state: "dead" });
  const again = await scenes.fileBefore("events");
  await scenes.purge("events");
  await crash(again);
  await put("events", messageFor(again));
  await pull("events");
  const given = await scenes.fileBefore("events");
  const held = (await pull("events")).find(({ id }) => id === given.id);
  await ok("POST", "/topics/events/bury", { receipt: held?.receipt });
  expect(await home(given.id)).toMatchObject({ state: "dead" });
}

/** A pause that begins while a call waits for messages, or ends while it notes a job. */
export async function pullHeld(scenes: Scenes): Promise<void> {
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
    [isNote, () => resumeTopic(scenes.ctx, "work", undefined)],
  ];
  // The job's start has passed meanwhile. Because the topic has a limit, the job gets another start.
  expect(await meanwhile(steps, () => pull("work"))).toEqual([]);
  scenes.pass(2 * SECOND);
  expect(await pull("work")).toMatchObject([{ id: freed.id }]);
  // The next attempt after a crash, while other jobs have all starts of the topic.
  const crashed = await file("work");
  await purge("work");
  await scenes.crash(crashed);
  await scenes.fill("work");
  await scenes.put("work", scenes.messageFor(crashed));
  await pull("work");
  expect(await scenes.isParked(crashed.id)).toBe(true);
  scenes.pass(11 * MINUTE);
}

export async function consumeEveryWay(scenes: Scenes, topic: ConsumedTopic): Promise<void> {
  const homes = await consumeEachEnd(scenes, topic);
  await consumeAgain(scenes, topic, homes);
  await consumeOutrun(scenes, topic, homes[3] as Home);
  await consumeTooLate(scenes, topic);
  await consumeCrashed(scenes, topic);
  await consumeDisowned(scenes, topic);
  await consumeOffTime(scenes, topic);
}

/** Jobs that end in each way. Answers their homes as they were filed. */
async function consumeEachEnd(scenes: Scenes, topic: ConsumedTopic): Promise<Home[]> {
  const { newKey, file, messageFor, consume } = scenes;
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
  expect(await consume(topic, homes.map(messageFor))).toEqual({ batchItemFailures: [] });
  expect(await statesOf(scenes, homes)).toEqual(
    "done done scheduled dead dead dead dead scheduled".split(" "),
  );
  return homes;
}

function statesOf({ home }: Scenes, homes: readonly Home[]): Promise<string[]> {
  return Promise.all(homes.map(async ({ id }) => (await home(id)).state));
}

/**
 * Each is dropped. The message of the failed job, whose retry is near, also makes the consumer send the retry's once more. Then the dead
 * letters of the buried jobs.
 */
async function consumeAgain(scenes: Scenes, topic: ConsumedTopic, homes: readonly Home[]): Promise<void> {
  const { messageFor, deadLetter, pass, consume } = scenes;
  pass(16 * SECOND);
  await consume(topic, homes.map(messageFor));
  const dead = homes.slice(4, 7);
  await scenes.forgetKeyOf(dead[0]?.id ?? "");
  for (const { id } of dead) await consume(topic, [await deadLetter(id)]);
  expect(await statesOf(scenes, dead)).toEqual(["scheduled", "scheduled", "scheduled"]);
}

async function consumeOutrun(
  { file, home, deadLetter, consume }: Scenes,
  topic: ConsumedTopic,
  outrun: Home,
): Promise<void> {
  await file(topic, { key: outrun.key ?? "", dueAt: Date.now() + DAY });
  await consume(topic, [await deadLetter(outrun.id)]);
  expect((await home(outrun.id)).state).toBe("dead");
}

async function consumeTooLate(
  { newKey, file, home, messageFor, pass, consume }: Scenes,
  topic: ConsumedTopic,
): Promise<void> {
  const expired = await file(topic, { expiresAfter: 1, key: newKey() });
  pass(5 * SECOND);
  const skipped = await file(topic, { dueAt: 9e12, key: newKey() });
  await consume(topic, [messageFor(expired), messageFor({ ...skipped, dueAt: Date.now() - DAY })]);
  expect((await home(skipped.id)).state).toBe("cancelled");
}

async function consumeCrashed(
  { newKey, file, messageFor, crash, withoutSqs, consume }: Scenes,
  topic: ConsumedTopic,
): Promise<void> {
  const crashed = [
    await file(topic),
    await file(topic, { maxAttempts: 1, key: newKey() }),
    await file(topic),
  ];
  for (const one of crashed) await crash(one);
  await consume(topic, crashed.slice(0, 2).map(messageFor));
  await withoutSqs(() => consume(topic, [messageFor(crashed[2] as Home)]));
}

async function consumeDisowned(scenes: Scenes, topic: ConsumedTopic): Promise<void> {
  const { newKey, file, home, messageFor, crash, consume } = scenes;
  const disowned = await file(topic, { key: newKey() });
  await crash(disowned, () => scenes.disown(topic, disowned.key));
  await consume(topic, [messageFor(disowned)]);
  expect(await home(disowned.id)).toMatchObject({ state: "cancelled" });
}

/** Jobs that were moved or are not due, messages of nobody, and an invocation without time. */
async function consumeOffTime(
  { ok, file, messageFor, consume }: Scenes,
  topic: ConsumedTopic,
): Promise<void> {
  const moved = await file(topic, { dueAt: Date.now() + 30 * MINUTE });
  await ok("PATCH", `/jobs/${moved.id}`, { delay: 60 });
  await consume(topic, [messageFor({ ...moved, dueAt: Date.now() })]);
  const early = await file(topic, { dueAt: Date.now() + 10 * MINUTE });
  const late = await file(topic);
  await consume(topic, [messageFor(early), `${MARK}: no message of ours`, `{"${MARK}"`]);
  await consume(topic, [messageFor(late)], 0);
}

export async function consumeHeld(scenes: Scenes, topic: ConsumedTopic): Promise<void> {
  const { file, fill, home, hold, meanwhile, messageFor } = scenes;
  const { consume, ctx, pass } = scenes;
  const waiting = [await file(topic), await file(topic)];
  // Filed while the topic is paused, the job would wait for its release.
  const freed = await file(topic);
  await hold(topic);
  expect(await consume(topic, waiting.map(messageFor))).toEqual({ batchItemFailures: [] });
  for (const { id } of waiting) expect(await home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
  const steps: Step[] = [[isNote, () => resumeTopic(ctx, topic, undefined)]];
  await meanwhile(steps, () => consume(topic, [messageFor(freed)]));
  // The job's start has passed meanwhile. Because the topic has a limit, the job gets another start.
  const again = await home(freed.id);
  expect(again).toMatchObject({ state: "scheduled", revision: 0 });
  await consume(topic, [messageFor(again)]);
  expect(await home(freed.id)).toMatchObject({ state: "done" });
  pass(6 * SECOND);

  const failing = await file(topic, { body: JSON.stringify(marked({ fails: "no bank" })) });
  await fill(topic);
  await consume(topic, [messageFor(failing)]);
  expect(await scenes.isParked(failing.id)).toBe(true);
  pass(11 * MINUTE);
}

export async function consumeOfBefore(scenes: Scenes): Promise<void> {
  await consumeEndsOfBefore(scenes);
  await consumeHeldOfBefore(scenes);
}

async function consumeEndsOfBefore(scenes: Scenes): Promise<void> {
  const { newKey, fileBefore, home, messageFor, crash, consume } = scenes;
  const fails = { body: JSON.stringify(marked({ fails: "no bank" })) };
  const homes = [
    await fileBefore("notes"),
    await fileBefore("notes", fails),
    await fileBefore("notes", { ...fails, maxAttempts: 1, key: newKey() }),
  ];
  expect(await consume("notes", homes.map(messageFor))).toEqual({ batchItemFailures: [] });
  expect(await statesOf(scenes, homes)).toEqual(["done", "scheduled", "dead"]);
  await consume("notes", homes.map(messageFor));
  await consume("notes", [await scenes.deadLetter(homes[2]?.id ?? "")]);
  expect(await statesOf(scenes, homes)).toEqual(["done", "scheduled", "scheduled"]);
  const crashed = await fileBefore("notes");
  await crash(crashed);
  await consume("notes", [messageFor(crashed)]);
  expect(await home(crashed.id)).toMatchObject({ state: "scheduled", revision: 1 });
}

async function consumeHeldOfBefore(scenes: Scenes): Promise<void> {
  const { fileBefore, home, messageFor, hold, letGo, consume } = scenes;
  const waiting = [await fileBefore("notes"), await fileBefore("notes")];
  await hold("notes");
  await consume("notes", waiting.map(messageFor));
  for (const { id } of waiting) expect(await scenes.isParked(id)).toBe(true);
  await letGo("notes");
  const freed = await fileBefore("notes");
  await hold("notes");
  const steps: Step[] = [[isNote, () => resumeTopic(scenes.ctx, "notes", undefined)]];
  await scenes.meanwhile(steps, () => consume("notes", [messageFor(freed)]));
  await consume("notes", [messageFor(await home(freed.id))]);
  expect(await home(freed.id)).toMatchObject({ state: "done" });
  scenes.pass(6 * SECOND);
}

/** Untracked jobs: nothing of them is stored, and their dead letters do not say that the jobs are dead. */
export async function consumeUntracked(scenes: Scenes): Promise<void> {
  const { file, messageFor } = scenes;
  const { consume } = scenes;
  const job = (more: object = {}) => file("notes", { body: JSON.stringify(marked(more)) });
  await consume("notes", [
    messageFor(await job()),
    messageFor(await job({ fails: "no bank" })),
    messageFor({ ...(await job({ fails: "no bank" })), attempt: 1 }),
    messageFor(await job({ bury: "closed" })),
    messageFor(await job({ retryIn: "1h", retryUntil: "9999" })),
  ]);
  await consume("notes", [messageFor({ ...(await job()), dueAt: Date.now() + 10 * MINUTE })]);
  await consume("notes", [messageFor(await job())], 0);
}
