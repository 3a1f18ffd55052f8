import { expect, test, vi } from "vitest";
import type { BusEntry, PutEvents } from "../../src/aws/put-events.ts";
import { createNotifier, FLUSH_PATIENCE, MOST_WAITING } from "../../src/environment/notices.ts";
import { receiveJobs } from "../../src/http/calls/pulled.ts";
import { redriveAsRead } from "../../src/protocol/change/redrive.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { ProtocolEvent } from "../../src/protocol/reports.ts";
import { die } from "../../src/protocol/run/die.ts";
import { settlePulled } from "../../src/protocol/run/settle-pulled.ts";
import { consume, crashWhileRunning } from "../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../support/world.ts";

const ALL = ["completed", "failed", "dead"] as const;
const AT = "2026-03-01T09:00:00.000Z";

type Scene = {
  readonly world: World;
  /** The world's context, with the notifier. */
  readonly ctx: Context;
  readonly flush: (by?: number) => Promise<void>;
  readonly put: BusEntry[];
  /** `source detail-type` and the detail of each event. */
  readonly told: () => [string, Record<string, unknown>][];
};

function scene(topics: Context["policy"]["topics"], answer?: PutEvents): Scene {
  const world = createWorld({ topics });
  const put: BusEntry[] = [];
  const take: PutEvents = async (entries) => {
    put.push(...entries);
    return entries.map(() => undefined);
  };
  const bus = { queue: "shop", name: "the-bus", put: answer ?? take };
  const notifier = createNotifier(world.ctx, bus, world.timers);
  const report = (event: ProtocolEvent): void => {
    world.ctx.report(event);
    notifier.note(event);
  };
  const told: Scene["told"] = () =>
    put.map(({ Source, DetailType, Detail }) => [`${Source} ${DetailType}`, JSON.parse(Detail)]);
  return { world, ctx: { ...world.ctx, report }, flush: notifier.flush, put, told };
}

const reportsOf = (world: World, type: ProtocolEvent["type"]) =>
  world.events.filter((event) => event.type === type);

test("a completed job is put on the bus with its key, tag, group and times, and without its body", async () => {
  const { world, ctx, flush, put, told } = scene({ orders: { notify: ALL } });
  const { id } = await world.file({
    ...{ delay: 5 * SECOND, key: "order-17", tag: "sale", group: "tenant-4", body: '{"card":"secret"}' },
  });
  await world.pass(5 * SECOND);
  await consume(world, "orders", { ctx });
  await flush();
  const times = { createdAt: AT, dueAt: "2026-03-01T09:00:05.000Z", endedAt: "2026-03-01T09:00:05.000Z" };
  const named = { id, topic: "orders", key: "order-17", tag: "sale", group: "tenant-4" };
  expect(told()).toEqual([
    ["minutehand.shop.orders JobCompleted", { version: 1, ...named, attempt: 1, ...times }],
  ]);
  expect(put).toMatchObject([{ EventBusName: "the-bus", Time: START / 1000 + 5 }]);
  expect(JSON.stringify(put)).not.toContain("secret");
  expect(reportsOf(world, "notified")).toEqual([
    { type: "notified", topic: "orders", id, event: "JobCompleted" },
  ]);
});

test("an attempt that fails tells when the next one is due, and the last one that the job is dead", async () => {
  const { world, ctx, flush, told } = scene({
    orders: { notify: ALL, maxAttempts: 2, backoff: { waits: [60] } },
  });
  const error = `no route ${"x".repeat(500)}`;
  const run = () => ({ end: "failed", error }) as const;
  const { id } = await world.file({});
  await consume(world, "orders", { ctx, run });
  await world.pass(MINUTE);
  await consume(world, "orders", { ctx, run });
  await flush();
  const [failed, dead, ...more] = told();
  expect(more).toEqual([]);
  const retryAt = "2026-03-01T09:01:00.000Z";
  expect(failed).toEqual([
    "minutehand.shop.orders JobFailed",
    {
      version: 1,
      id,
      topic: "orders",
      attempt: 1,
      createdAt: AT,
      endedAt: AT,
      retryAt,
      error: expect.any(String),
    },
  ]);
  expect(dead).toMatchObject(["minutehand.shop.orders JobDead", { id, attempt: 2, dueAt: retryAt }]);
  for (const [, detail] of [failed, dead] as [string, { error: string }][])
    expect(Buffer.byteLength(detail.error)).toBeLessThanOrEqual(256);
});

test("only the ends that the topic names are put on the bus, and none of a topic without notify", async () => {
  const { world, ctx, flush, told } = scene({ orders: { notify: ["dead"], maxAttempts: 1 }, quiet: {} });
  const read = world.pool.hooks;
  await world.file({ body: '"fails"' });
  await world.file({});
  await world.file({ topic: "quiet" });
  let reads = 0;
  await consume(world, "quiet", { ctx });
  read.before = ({ operation }) => {
    if (operation === "read") reads++;
  };
  await flush();
  expect(reads).toBe(0);
  await consume(world, "orders", {
    ...{ ctx, run: (job) => (job.body === "fails" ? { end: "failed", error: "e" } : { end: "done" }) },
  });
  await flush();
  expect(told().map(([name]) => name)).toEqual(["minutehand.shop.orders JobDead"]);
});

test("a run that crashed is told by the consumer that finds it", async () => {
  const { world, ctx, flush, told } = scene({ orders: { notify: ALL } });
  const { id } = await world.file({});
  await crashWhileRunning(world, "orders");
  await world.pass(2 * MINUTE);
  await consume(world, "orders", { ctx });
  await flush();
  expect(told()).toMatchObject([["minutehand.shop.orders JobFailed", { id, attempt: 1 }]]);
});

test("a pulled job is told by the call that settles it", async () => {
  const { world, ctx, flush, told } = scene({ work: { consumer: "pull", notify: ALL } });
  for (const key of ["a", "b", "c"]) await world.file({ topic: "work", key });
  const pulled = await receiveJobs(ctx, "work", { max: 3, waitSeconds: 0 }, world.timers, undefined);
  const [first = "", second = "", third = ""] = pulled.map(({ receipt }) => receipt);
  await settlePulled(ctx, "work", first, { end: "done" });
  await settlePulled(ctx, "work", second, { end: "failed", error: "later" });
  await settlePulled(ctx, "work", third, { end: "buried", error: "never" });
  await flush();
  expect(told().map(([name]) => name.split(" ")[1])).toEqual(["JobCompleted", "JobFailed", "JobDead"]);
});

test("a job that the tick cannot send is told as dead, and one that was redriven meanwhile without a due time", async () => {
  const { world, ctx, flush, told } = scene({ orders: { notify: ALL } });
  const home = await world.file({ delay: HOUR, tag: "t" });
  await die(ctx, home, "giveUp", { error: "no queue" });
  await flush();
  await redriveAsRead(world.ctx, await world.home(home.id), world.now());
  for (const event of [...world.events]) if (event.type === "dead") ctx.report(event);
  await flush();
  const [[name, first] = ["", {}], [, second] = ["", {}]] = told();
  expect(name).toBe("minutehand.shop.orders JobDead");
  const dead = { id: home.id, attempt: 0, tag: "t", error: "no queue" };
  expect(first).toMatchObject({ ...dead, dueAt: "2026-03-01T10:00:00.000Z" });
  expect(second).toMatchObject(dead);
  expect(second).not.toHaveProperty("dueAt");
});

test("if the table does not answer, the event comes without what only the stored job says", async () => {
  const { world, ctx, flush, told } = scene({ orders: { notify: ALL } });
  const { id } = await world.file({ key: "k" });
  await consume(world, "orders", { ctx: { ...ctx, report: () => {} } });
  world.pool.hooks.before = () => {
    throw new Error("no answer");
  };
  ctx.report({ type: "done", topic: "orders", id, attempt: 1 });
  await flush();
  expect(told()).toEqual([
    ["minutehand.shop.orders JobCompleted", { version: 1, id, topic: "orders", attempt: 1, endedAt: AT }],
  ]);
});

test("ends that come together share a call of ten", async () => {
  const sizes: number[] = [];
  const { ctx, flush } = scene({ orders: { notify: ALL } }, async (entries) => {
    sizes.push(entries.length);
    return entries.map(() => undefined);
  });
  for (let i = 0; i < 23; i++) ctx.report({ type: "done", topic: "orders", id: `${i}`, attempt: 1 });
  await flush();
  expect(sizes).toEqual([10, 10, 3]);
});

test.each([
  ["answers an error", async () => ["ThrottlingException"]],
  [
    "throws",
    async () => {
      throw new Error("ThrottlingException");
    },
  ],
] as [string, PutEvents][])(
  "if the bus %s, the event is lost and counted, and the job is done",
  async (_, answer) => {
    const { world, ctx, flush } = scene({ orders: { notify: ALL } }, answer);
    const { id } = await world.file({});
    await consume(world, "orders", { ctx });
    await flush();
    expect((await world.home(id)).state).toBe("done");
    expect(reportsOf(world, "not-notified")).toEqual([
      { type: "not-notified", topic: "orders", jobs: 1, id, error: "ThrottlingException" },
    ]);
  },
);

test("a bus that hangs delays the end of an invocation by the patience of a flush at most, and a late one not at all", async () => {
  const waits: number[] = [];
  const world = createWorld({ topics: { orders: { notify: ALL } } });
  const timers = {
    ...world.timers,
    after: (ms: number, act: () => void) => {
      waits.push(ms);
      setImmediate(act);
      return () => {};
    },
  };
  const bus = { queue: "shop", name: "b", put: () => new Promise<never>(() => {}) };
  const { note, flush } = createNotifier(world.ctx, bus, timers);
  note({ type: "done", topic: "orders", id: "i", attempt: 1 });
  waits.length = 0;
  await flush();
  await flush(world.now() + 200);
  await flush(world.now() - 1);
  expect(waits.filter((ms) => ms !== 1000)).toEqual([FLUSH_PATIENCE, 200]);
});

test("while the bus hangs, memory does not grow: further events are lost and counted", async () => {
  const { world, ctx } = scene({ orders: { notify: ALL } }, () => new Promise<never>(() => {}));
  for (let i = 0; i < MOST_WAITING + 5; i++)
    ctx.report({ type: "done", topic: "orders", id: `${i}`, attempt: 1 });
  expect(reportsOf(world, "not-notified")).toHaveLength(5);
});

test("a flush waits for the events that were noted before it, and not for those of other calls", async () => {
  const answers: (() => void)[] = [];
  const { ctx, flush } = scene({ orders: { notify: ALL } }, async (entries) => {
    await new Promise<void>((answer) => answers.push(answer));
    return entries.map(() => undefined);
  });
  const end = (id: string) => ctx.report({ type: "done", topic: "orders", id, attempt: 1 });
  end("first");
  await vi.waitFor(() => expect(answers).toHaveLength(1));
  const flushed = flush();
  end("second");
  answers[0]?.();
  await flushed;
  await vi.waitFor(() => expect(answers).toHaveLength(2));
});
