import type { SQSRecord } from "aws-lambda";
import { expect, test } from "vitest";
import { eventsOn } from "../../src/consumer/apply-events.ts";
import { CLOCK_MARGIN, EVENT_RECEIVES, LONGEST_LEASE } from "../../src/core/constants.ts";
import type { Item } from "../../src/core/items.ts";
import type { EnqueueRule } from "../../src/settings/event-rules.ts";
import { busEvent, deliver, paid } from "../support/bus.ts";
import { consume, crashWhileRunning } from "../support/consume.ts";
import { liveHomes } from "../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../support/world.ts";

const KEY = "order-1";
const placed: EnqueueRule = {
  topic: "orders",
  do: "enqueue",
  detailType: "OrderPlaced",
  key: "$.detail.orderId",
  delay: 1800,
  body: "$.detail",
  onDuplicate: "keep",
};
const placedEvent = (at: number, more: object = {}) =>
  busEvent(at, { "detail-type": "OrderPlaced", ...more });
const shop = (): World => createWorld({ topics: { orders: { cancelledByEvents: true }, mails: {} } });
const troubles = (world: World) => world.events.filter((event) => event.type === "trouble");
/** Deletes all expired items, as TTL does. */
async function expire({ pool, now }: World): Promise<void> {
  const isOver = (item: Item) => "expiresAt" in item && (item.expiresAt ?? 0) * SECOND <= now();
  await pool.remove(pool.items().filter(isOver), now() + SECOND);
}
/** Records the hides that SQS is asked for. Answers their durations, in seconds. */
const hides = (world: World): number[] => {
  const asked: number[] = [];
  const { hide } = world.queues;
  world.queues.hide = async (queue, messages) => {
    expect(queue).toEqual({ events: true });
    asked.push(...messages.map(({ seconds }) => seconds));
    return hide(queue, messages);
  };
  return asked;
};

test("an event cancels the job of its key", async () => {
  const world = shop();
  const { id } = await world.file({ key: KEY, delay: HOUR });
  expect(await deliver(world, [paid], [busEvent(world.now())])).toEqual([]);
  expect(await world.home(id)).toMatchObject({ state: "cancelled" });
});

test("an event whose partition does not answer is given up in seconds, and delays no other event", async () => {
  const world = shop();
  const sick = await world.file({ key: "sick", delay: HOUR });
  const well = await world.file({ key: "well", delay: 2 * HOUR });
  const { transact } = world.pool;
  let waiting: number | undefined;
  world.pool.transact = async (writes, by) => {
    const isIts = writes.some((write) => "change" in write && write.change.key.sk === sick.sk);
    if (!isIts) return transact.call(world.pool, writes, by);
    waiting = by - world.now();
    throw new Error("throttled until its deadline");
  };
  const told = (orderId: string) => busEvent(world.now(), { id: orderId, detail: { orderId } });
  expect(await deliver(world, [paid], [told("sick"), told("well")])).toEqual([0]);
  expect(waiting).toBe(5 * SECOND);
  expect(await world.home(well.id)).toMatchObject({ state: "cancelled" });
  world.pool.transact = transact;
  await world.pass(MINUTE, { ticks: false });
  expect(await deliver(world, [paid], [told("sick")])).toEqual([]);
  expect(await world.home(sick.id)).toMatchObject({ state: "cancelled" });
});

test("all events of an invocation are applied at once, so that none waits for a hanging queue of another", async () => {
  const world = shop();
  const send = world.queues.send;
  let hanging = 0;
  let most = 0;
  world.queues.send = async (queue, messages) => {
    most = Math.max(most, ++hanging);
    // The work before a send needs no timers, so by the next turn of the event loop all sends that do not wait have begun.
    await new Promise((resolve) => setImmediate(resolve));
    hanging -= 1;
    return send(queue, messages);
  };
  const soon: EnqueueRule = { ...placed, delay: 60 };
  const bodies = Array.from({ length: 10 }, (_, i) =>
    placedEvent(world.now(), { id: `e${i}`, detail: { orderId: `order-${i}` } }),
  );
  expect(await deliver(world, [soon], bodies)).toEqual([]);
  expect(most).toBe(10);
});

test("a queue that hangs is asked once a minute, and its topic's jobs are left to sweeps", async () => {
  const world = shop();
  const { send } = world.queues;
  let asked = 0;
  let takes = 15 * SECOND;
  world.queues.send = async (queue, messages) => {
    if (!("topic" in queue) || queue.topic !== "orders") return send(queue, messages);
    asked += 1;
    await world.pass(takes, { ticks: false });
    return messages.map(() => ({ outcome: "unreachable", reason: "it hangs" }));
  };
  const soon: EnqueueRule = { ...placed, delay: 60 };
  const apply = eventsOn(world.ctx, [soon], () => {});
  const told = async (n: number): Promise<void> => {
    const body = placedEvent(world.now(), { id: `e${n}`, detail: { orderId: `order-${n}` } });
    const record = { messageId: "m", receiptHandle: "h", body, attributes: { ApproximateReceiveCount: "1" } };
    const { batchItemFailures } = await apply({ Records: [record as SQSRecord] });
    expect(batchItemFailures).toEqual([]);
  };
  for (let n = 0; n < 10; n++) await told(n);
  expect(asked).toBe(1);
  await world.pass(MINUTE, { ticks: false });
  await told(10);
  expect(asked).toBe(2);
  // A queue that fails at once is asked each time, because it may take the next message.
  await world.pass(MINUTE, { ticks: false });
  takes = 0;
  for (let n = 11; n < 14; n++) await told(n);
  expect(asked).toBeGreaterThanOrEqual(5);
  world.queues.send = send;
  await world.pass(20 * MINUTE);
  expect(new Set(world.visible("orders").map(({ id }) => id)).size).toBe(14);
});

test("an event's rules of another topic are applied while the queue of the first one hangs", async () => {
  const world = shop();
  const hangs = Promise.withResolvers<void>();
  const { send } = world.queues;
  world.queues.send = async (queue, messages) => {
    if ("topic" in queue && queue.topic === "orders") await hangs.promise;
    return send(queue, messages);
  };
  const rules = [placed, { ...placed, topic: "mails" }];
  const delivered = deliver(world, rules, [placedEvent(START - 1800 * SECOND)]);
  await expect.poll(() => world.queues.messages({ topic: "mails" })).toHaveLength(1);
  hangs.resolve();
  expect(await delivered).toEqual([]);
  expect(world.queues.messages({ topic: "orders" })).toHaveLength(1);
});

test("an event that comes before the job cancels the job if it is filed within the rule's time after the event", async () => {
  const world = shop();
  await world.pass(700, { ticks: false });
  await deliver(world, [paid], [busEvent(world.now())]);
  await world.pass(300 * SECOND - 701, { ticks: false });
  expect(await world.file({ key: KEY, delay: HOUR })).toMatchObject({ state: "cancelled" });
  await world.pass(1, { ticks: false });
  expect(await world.file({ key: KEY, delay: HOUR })).toMatchObject({ state: "scheduled" });
});

test("an event whose time is in the future counts from now", async () => {
  const world = shop();
  await deliver(world, [paid], [busEvent(START + 24 * HOUR)]);
  await world.pass(300 * SECOND, { ticks: false });
  expect(await world.file({ key: KEY, delay: HOUR })).toMatchObject({ state: "scheduled" });
});

test("an event files a job of its key, with its body, which is due a delay after the event's time", async () => {
  const world = shop();
  await world.pass(MINUTE, { ticks: false });
  expect(await deliver(world, [placed], [placedEvent(START)])).toEqual([]);
  expect(liveHomes(world)).toMatchObject([
    { topic: "orders", key: KEY, dueAt: START + 30 * MINUTE, body: `{"orderId":"${KEY}"}` },
  ]);
});

test("an event files one job by each of its rules, and none when it is delivered again, even after the jobs are done", async () => {
  const world = shop();
  const rules = [
    { ...placed, delay: 0 },
    { ...placed, delay: 0, key: "$.detail.shop" },
  ];
  const event = placedEvent(START, { detail: { orderId: KEY, shop: "s" } });
  await deliver(world, rules, [event]);
  expect(liveHomes(world)).toHaveLength(2);
  expect(await consume(world, "orders")).toHaveLength(2);
  expect(await deliver(world, rules, [event])).toEqual([]);
  expect(liveHomes(world)).toEqual([]);
  await deliver(world, rules, [event.replace('"e1"', '"e2"')]);
  expect(liveHomes(world)).toHaveLength(2);
});

test("an event that comes again with its DLQ's redrive, 14 days later, files no second job, though its job is gone", async () => {
  const world = shop();
  const rules = [{ ...placed, delay: 0 }];
  await deliver(world, rules, [placedEvent(START)]);
  const [home] = await consume(world, "orders");
  await world.pass(14 * 24 * HOUR, { ticks: false });
  for (const retained of [true, false]) {
    if (!retained) await expire(world);
    expect(await deliver(world, rules, [placedEvent(START)])).toEqual([]);
    expect(liveHomes(world)).toEqual([]);
  }
  await expect(world.home(home?.id ?? "")).rejects.toThrow("no job");
  expect(troubles(world)).toEqual([]);
});

test("an event that cancelled a job is known for 14 days, so an older event files no job in this time", async () => {
  const world = shop();
  const { id } = await world.file({ key: KEY, delay: HOUR });
  await world.pass(SECOND, { ticks: false });
  await deliver(world, [paid], [busEvent(world.now())]);
  await world.pass(14 * 24 * HOUR, { ticks: false });
  await expire(world);
  await expect(world.home(id)).rejects.toThrow("no job");
  await deliver(world, [placed], [placedEvent(START)]);
  expect(liveHomes(world)).toEqual([]);
  await world.file({ key: KEY, delay: HOUR });
  await deliver(world, [paid], [busEvent(START + SECOND)]);
  expect(liveHomes(world)).toHaveLength(1);
});

test("events debounce a job, within its rule's bound", async () => {
  const world = shop();
  const rule: EnqueueRule = { ...placed, delay: 60, onDuplicate: "postpone", maxDelay: 90 };
  await deliver(world, [rule], [placedEvent(START)]);
  await world.pass(50 * SECOND, { ticks: false });
  const detail = { orderId: KEY, n: 2 };
  await deliver(world, [rule], [placedEvent(world.now(), { id: "e2", detail })]);
  expect(liveHomes(world)).toMatchObject([{ dueAt: START + 90 * SECOND, body: JSON.stringify(detail) }]);
});

test("an event that comes after a newer one changes no job, also if a caller has replaced the job since", async () => {
  for (const how of [{ onDuplicate: "replace" }, { onDuplicate: "postpone", maxDelay: 3600 }] as const) {
    const world = shop();
    const rule: EnqueueRule = { ...placed, delay: 600, ...how };
    const told = (second: number) =>
      deliver(
        world,
        [rule],
        [placedEvent(START + second * SECOND, { id: `e${second}`, detail: { orderId: KEY, second } })],
      );
    await world.pass(MINUTE, { ticks: false });
    for (const second of [10, 30, 20]) await told(second);
    expect(liveHomes(world)).toMatchObject([
      { body: `{"orderId":"${KEY}","second":30}`, dueAt: START + 630 * SECOND },
    ]);
    await world.file({ key: KEY, onDuplicate: "replace", body: "1", delay: HOUR });
    await told(15);
    expect(liveHomes(world)).toMatchObject([{ body: "1", eventAt: START + 30 * SECOND }]);
  }
});

test("a bound also counts from the time of the first event, and a job whose bound is past is due now", async () => {
  const rule: EnqueueRule = { ...placed, delay: 600, onDuplicate: "postpone", maxDelay: 300 };
  for (const [late, dueAt] of [
    [MINUTE, START + 5 * MINUTE],
    [HOUR, START + HOUR],
  ] as const) {
    const world = shop();
    await world.pass(late, { ticks: false });
    await deliver(world, [rule], [placedEvent(START)]);
    const bound = START + 5 * MINUTE;
    expect(liveHomes(world)).toMatchObject([{ dueAt, wantedAt: bound, postponeUntil: bound }]);
  }
});

test("an event that cancels and an older one that files, whichever is delivered first, leave no live job", async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const world = shop();
    const bodies = [placedEvent(START), busEvent(START, { id: "e2" })];
    for (const at of order) expect(await deliver(world, [placed, paid], [bodies[at] ?? ""])).toEqual([]);
    expect(liveHomes(world)).toEqual([]);
  }
});

test("events that come after an outage, whichever is delivered first, leave no live job with a cancelled key", async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const world = shop();
    const bodies = [placedEvent(START), busEvent(START + 10 * MINUTE, { id: "e2" })];
    await world.pass(HOUR, { ticks: false });
    for (const at of order) expect(await deliver(world, [placed, paid], [bodies[at] ?? ""])).toEqual([]);
    expect(liveHomes(world)).toEqual([]);
    expect(await deliver(world, [placed], [placedEvent(START + 20 * MINUTE, { id: "e3" })])).toEqual([]);
    expect(liveHomes(world)).toMatchObject([{ createdAt: START + 20 * MINUTE, dueAt: world.now() }]);
  }
});

test("an event that matches no rule is removed", async () => {
  const world = shop();
  const other = busEvent(START, { source: "bank" });
  expect(await deliver(world, [paid], [other, placedEvent(START)])).toEqual([]);
  expect(world.events).toEqual([]);
});

test("an event cancels a job that runs: once its run has crashed it does not run again", async () => {
  const world = shop();
  const { id } = await world.file({ key: KEY });
  await crashWhileRunning(world, "orders", 40_000);
  expect(await deliver(world, [paid], [busEvent(START)])).toEqual([]);
  await world.pass(2 * MINUTE);
  await consume(world, "orders");
  expect(await world.home(id)).toMatchObject({ state: "cancelled", attempt: 1 });
});

const changed: EnqueueRule = { ...placed, onDuplicate: "replace" };

test("an event that replaces a running job stays, hidden, and replaces it when the lease is over", async () => {
  const world = shop();
  const { id } = await world.file({ key: KEY });
  await crashWhileRunning(world, "orders", 40_000);
  const asked = hides(world);
  const event = placedEvent(START);
  expect(await deliver(world, [changed], [event])).toEqual([0]);
  expect(asked).toEqual([5]);
  expect(troubles(world)).toEqual([]);
  await world.pass(40 * SECOND + CLOCK_MARGIN, { ticks: false });
  expect(await deliver(world, [changed], [event], 2)).toEqual([]);
  expect(await world.home(id)).toMatchObject({ state: "scheduled", dueAt: START + 30 * MINUTE });
});

test("an event for a running job waits ever longer, 15 minutes at most, and outlasts the longest lease", async () => {
  const world = shop();
  await world.file({ key: KEY });
  await crashWhileRunning(world, "orders");
  const asked = hides(world);
  const receives = Array.from({ length: EVENT_RECEIVES }, (_, i) => i + 1);
  for (const nth of receives) await deliver(world, [changed], [placedEvent(START)], nth);
  expect(asked.slice(0, 9)).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 900]);
  // After the last receive the message goes to the DLQ, so its wait does not count.
  const waited = asked.slice(0, -1).reduce((sum, seconds) => sum + seconds, 0);
  expect(waited * SECOND).toBeGreaterThan(LONGEST_LEASE + CLOCK_MARGIN);
  expect(Math.max(...asked)).toBe(900);
});

test("a run that is over long before its lease keeps an event waiting for seconds", async () => {
  const world = shop();
  const rule: EnqueueRule = { ...placed, delay: 10, onDuplicate: "postpone", maxDelay: 600 };
  const { id } = await world.file({ key: KEY });
  const asked = hides(world);
  await consume(world, "orders", {
    timeout: 15 * MINUTE,
    run: async () => {
      expect(await deliver(world, [rule], [placedEvent(START)])).toEqual([0]);
      return { end: "done" };
    },
  });
  expect(asked).toEqual([5]);
  await world.pass(5 * SECOND, { ticks: false });
  expect(await deliver(world, [rule], [placedEvent(START)], 2)).toEqual([]);
  expect(liveHomes(world)).toMatchObject([{ dueAt: START + 10 * SECOND }]);
  expect(liveHomes(world)).not.toMatchObject([{ id }]);
});

test("an event's other rules are applied while the job of one of its rules runs", async () => {
  const world = shop();
  await world.file({ key: KEY });
  await crashWhileRunning(world, "orders");
  const asked = hides(world);
  const rules = [changed, { ...placed, topic: "mails" }];
  expect(await deliver(world, rules, [placedEvent(START)])).toEqual([0]);
  expect(liveHomes(world)).toMatchObject([{ topic: "mails" }]);
  expect(asked).toEqual([5]);
  expect(troubles(world)).toEqual([]);
  await world.pass(30 * SECOND + CLOCK_MARGIN, { ticks: false });
  expect(await deliver(world, rules, [placedEvent(START)], 2)).toEqual([]);
  expect(liveHomes(world)).toHaveLength(2);
});

test("an event that cannot be hidden stays in the queue", async () => {
  const world = shop();
  await world.file({ key: KEY });
  await crashWhileRunning(world, "orders");
  world.queues.trouble("all", "failing");
  expect(await deliver(world, [changed], [placedEvent(START)])).toEqual([0]);
  expect(troubles(world)).toMatchObject([{ what: "hiding an event" }]);
});

test("a message that is not an event stays and is reported, and the other messages are applied", async () => {
  const world = shop();
  const { id } = await world.file({ key: KEY, delay: HOUR });
  const bad = [
    "hello",
    busEvent(START, { detail: {} }),
    placedEvent(START, { detail: { orderId: KEY, note: "x".repeat(200 * 1024) } }),
  ];
  expect(await deliver(world, [paid, placed], [...bad, busEvent(START)])).toEqual([0, 1, 2]);
  expect(await world.home(id)).toMatchObject({ state: "cancelled" });
  expect(troubles(world)).toMatchObject([
    { what: "reading an event", error: expect.stringContaining("text that is no JSON") },
    { topic: "orders", what: "applying event e1", error: expect.stringContaining("got nothing") },
    { topic: "orders", what: "applying event e1", error: expect.stringContaining("200 KiB") },
  ]);
});

test("if an event's rule fails for one topic, its rules for other topics are applied, and only once when it comes again", async () => {
  const world = shop();
  const rules = [
    { ...placed, topic: "gone" },
    { ...placed, topic: "mails" },
  ];
  expect(await deliver(world, rules, [placedEvent(START)])).toEqual([0]);
  expect(await deliver(world, rules, [placedEvent(START)])).toEqual([0]);
  expect(liveHomes(world)).toMatchObject([{ topic: "mails" }]);
  expect(troubles(world)).toMatchObject([{ topic: "gone" }, { topic: "gone" }]);
});

test("an event is applied when its message comes again if the pool failed at first", async () => {
  const world = shop();
  await world.file({ key: KEY, delay: HOUR });
  world.pool.hooks.before = () => {
    throw new Error("no table");
  };
  expect(await deliver(world, [paid], [busEvent(START)])).toEqual([0]);
  delete world.pool.hooks.before;
  expect(await deliver(world, [paid], [busEvent(START)], 2)).toEqual([]);
  expect(liveHomes(world)).toEqual([]);
});

test("what each rule did with an event is reported once", async () => {
  const world = shop();
  const keyless: EnqueueRule = { ...placed, topic: "mails", key: "$.detail.mail" };
  const rules = [placed, { ...paid, detailType: "OrderPlaced" }, keyless];
  const told = () => world.events.filter((event) => event.type === "event-applied").at(-1);
  await deliver(world, [placed], [placedEvent(world.now(), { id: "a" })]);
  const [home] = await liveHomes(world);
  const of = { topic: "orders", rule: "enqueueOn" };
  expect(told()).toMatchObject({ event: "a", rules: [{ ...of, did: "created", id: home?.id }] });
  await deliver(world, [placed], [placedEvent(world.now(), { id: "a" })]);
  expect(told()).toMatchObject({ event: "a", rules: [{ ...of, did: "replayed", id: home?.id }] });
  await deliver(world, rules, [placedEvent(world.now(), { id: "b" })]);
  const error = expect.stringContaining("$.detail.mail of event OrderPlaced b");
  expect(told()).toMatchObject({
    event: "b",
    rules: [
      { topic: "orders", rule: "cancelOn", did: "cancelled", id: home?.id },
      { ...of, did: "cancelled" },
      { topic: "mails", rule: "enqueueOn", did: "failed", error },
    ],
  });
  await deliver(world, [paid], [busEvent(world.now(), { id: "c", detail: { orderId: "other" } })]);
  expect(told()).toMatchObject({
    event: "c",
    rules: [{ rule: "cancelOn", did: "no-job", until: expect.any(Number) }],
  });
  await deliver(world, [paid], [busEvent(world.now(), { id: "c", detail: { orderId: "other" } })]);
  expect(told()).toMatchObject({ event: "c", rules: [{ rule: "cancelOn", did: "nothing" }] });
});
