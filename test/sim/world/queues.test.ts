import { expect, it } from "vitest";
import { toAttributes } from "../../../src/aws/attributes.ts";
import { homeKey } from "../../../src/core/item-keys.ts";
import { ITEM_VERSION } from "../../../src/core/items.ts";
import { drawJobId } from "../../../src/core/job-id.ts";
import { MESSAGE_VERSION } from "../../../src/core/message.ts";
import { SIZES } from "../../../src/core/work-sizes.ts";
import type { TopicPolicy } from "../../../src/settings/policy.ts";
import { seededBytes } from "../../../src/testing/random.ts";
import { planOf } from "../faults.ts";
import { habitOf } from "../habits.ts";
import { pollQueue } from "../platform.ts";
import { pullTopic } from "../pullers.ts";
import { NO_TROUBLE } from "../services/service.ts";
import { simulatedSqs } from "../services/sqs.ts";
import { stretchOf } from "../stretch.ts";
import { timelineFrom } from "../timeline.ts";
import { TOPICS, UNTRACKED, UNWANTED } from "../topics.ts";
import type { Violation } from "../witness/bench.ts";
import { witnessOf } from "../witness.ts";
import { worldOf } from "../world.ts";

const CALM = 10;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

function planFrom(seed: number, start: number) {
  const stretch = { span: MINUTE, spells: { long: 1, short: 1 }, faultRates: [0], shards: 2 };
  return planOf(seed, {
    ...{ start, stretch, topics: Object.keys(TOPICS), roles: [], suppressed: new Set<string>() },
    onFault: () => {},
  });
}

/** A world without users and without faults. `carriesLineage`: see `worldOf`. `logs`: settings of the topic `logs`. */
function calmWorld(
  carriesLineage = false,
  orders: Partial<TopicPolicy> = {},
  onViolation: (violation: Violation) => void = () => {},
) {
  const habit = habitOf(CALM, "calm");
  const timeline = timelineFrom(habit.start);
  const plan = planFrom(CALM, habit.start);
  const topics = { ...TOPICS, orders: { ...TOPICS.orders, ...orders } };
  const { weather, skew, latest, burns } = plan;
  const witness = witnessOf({
    ...{ clock: timeline.now, weather, skew, latest, burns, unwanted: UNWANTED, untracked: UNTRACKED },
    ...{ topics, onViolation },
  });
  const policy = { shards: 2, longDelay: 600, retention: 300, deadRetention: 300, topics };
  return worldOf({
    ...{ seed: CALM, plan, habit, timeline, witness, policy, sizes: SIZES, carriesLineage },
    ...{ stretch: stretchOf(CALM, false), trace: () => {}, onCall: () => {} },
  });
}

function homeOf(createdAt: number, dueAt: number) {
  const id = drawJobId(dueAt, 2, seededBytes(1));
  const home = { ...homeKey(id), v: ITEM_VERSION, id, topic: "orders", body: "{}", state: "scheduled" };
  return { ...home, dueAt, wantedAt: dueAt, createdAt, revision: 0, attempt: 0 };
}

async function invocationsOfLoop(carriesLineage: boolean) {
  const world = calmWorld(carriesLineage);
  let invocations = 0;
  pollQueue(world, "orders", {
    name: "consumer-orders",
    build: (ctx) => async () => {
      invocations += 1;
      await ctx.queues.send({ topic: "orders" }, [{ body: "again", delaySeconds: 60 }]);
      return { batchItemFailures: [] };
    },
  });
  const Entries = [{ Id: "0", MessageBody: "first" }];
  world.sqs.perform("SendMessageBatch", { QueueUrl: "orders", Entries }, NO_TROUBLE);
  await world.timeline.run(world.timeline.now() + 120 * MINUTE, () => false);
  return { invocations, buried: world.sqs.messages("orders_dlq").map(({ body }) => body) };
}

it("Lambda does not run the message that would make the 17th invocation of a chain, and SQS moves it to the DLQ", async () => {
  expect(await invocationsOfLoop(true)).toEqual({ invocations: 16, buried: ["again"] });
});

it("Lambda never stops a loop of the code's own messages, because they carry no lineage", async () => {
  const { invocations, buried } = await invocationsOfLoop(false);
  expect(invocations).toBeGreaterThan(100);
  expect(buried).toEqual([]);
});

/** A ready queue and its DLQ with one message, which a consumer receives again and again in vain. */
function queueWithMessage() {
  let now = Date.UTC(2026, 2, 1);
  const sqs = simulatedSqs({
    ...{ clock: () => now, topics: ["mail"], inFlight: () => 10, unwanted: UNWANTED, pick: () => 0 },
    ...{ onVisible: () => {}, onSent: () => {}, onRefused: () => {} },
  });
  const entry = { Id: "0", MessageBody: "hello" };
  sqs.perform("SendMessageBatch", { QueueUrl: "mail", Entries: [entry] }, NO_TROUBLE);
  const receive = () => sqs.perform("ReceiveMessage", { QueueUrl: "mail", VisibilityTimeout: 1 }, NO_TROUBLE);
  const pass = (ms: number): void => {
    now += ms;
  };
  const bury = (): void => {
    for (let i = 0; i <= 20; i++) {
      receive();
      pass(1000);
    }
  };
  return { sqs, receive, pass, bury };
}

it("a ready queue forgets a message ten days after it was sent, received or not", () => {
  const { sqs, receive, pass } = queueWithMessage();
  pass(10 * DAY - 1);
  receive();
  expect(sqs.messages("mail")).toHaveLength(1);
  pass(1);
  expect(sqs.messages("mail")).toEqual([]);
});

it("a DLQ forgets a message 14 days after it was sent to its ready queue, and SQS's own redrive makes it new", () => {
  const { sqs, pass, bury } = queueWithMessage();
  pass(8 * DAY);
  bury();
  expect(sqs.messages("mail_dlq")).toHaveLength(1);
  pass(5 * DAY);
  sqs.redrive("mail");
  pass(9 * DAY);
  expect(sqs.messages("mail")).toHaveLength(1);
  const other = queueWithMessage();
  other.pass(8 * DAY);
  other.bury();
  other.pass(6 * DAY);
  expect(other.sqs.messages("mail_dlq")).toEqual([]);
});

it("a queue has few messages in flight in some histories, and only until their faults are over", () => {
  const plans = Array.from({ length: 100 }, (_, seed) => planFrom(seed, 0));
  expect(plans.filter((plan) => plan.inFlight(0) === 3).length).toBeGreaterThan(1);
  for (const plan of plans) expect(plan.inFlight(MINUTE)).toBe(120_000);
});

it("only a sender whose deployment does not have the topic may send a job that starts outside of the topic's window", async () => {
  const violations: string[] = [];
  const window = "00:00-00:01 UTC";
  const world = calmWorld(false, { window }, ({ promise }) => violations.push(promise));
  const now = world.timeline.now();
  const dueAt = new Date(now).toISOString();
  const later = new Date(now + MINUTE).toISOString();
  const home = homeOf(now, now);
  world.witness.written(undefined, toAttributes(home));
  const handOver = async (name: string, sentAt: string): Promise<void> => {
    const job = { id: home.id, revision: 0, attempt: 1, dueAt, sentAt, body: {} };
    const body = JSON.stringify({ v: MESSAGE_VERSION, topic: "orders", jobs: [job] });
    const sent = world.start(name).ctx.queues.send({ topic: "orders" }, [{ body, delaySeconds: 0 }]);
    await world.timeline.run(world.timeline.now() + MINUTE, () => false);
    expect(await sent).toEqual([{ outcome: "sent" }]);
  };
  const { orders: _, ...others } = world.policy.topics;
  const whole = world.policy;
  world.policy = { ...whole, topics: others };
  await handOver("tick-1", dueAt);
  world.policy = whole;
  // A puller splits the message.
  await handOver("api-1", dueAt);
  expect(violations).toEqual([]);
  await handOver("tick-2", later);
  expect(violations).toEqual(["window"]);
});

it("a puller asks for as many jobs as a receive may have while many messages wait", async () => {
  const world = calmWorld();
  const asked: unknown[] = [];
  const api = async (_: string, __: string, body?: object) => {
    asked.push(body);
    return { status: 200, body: { jobs: [] } };
  };
  pullTopic(world, api, "events", () => "done");
  for (let i = 0; i < 60; i++) {
    const Entries = [{ Id: "0", MessageBody: "hello" }];
    world.sqs.perform("SendMessageBatch", { QueueUrl: "events", Entries }, NO_TROUBLE);
  }
  await world.timeline.run(world.timeline.now() + 2 * MINUTE, () => false);
  expect(asked.length).toBeGreaterThan(4);
  expect(new Set(asked.map((body) => JSON.stringify(body)))).toEqual(new Set(['{"max":10}']));
});

it("an untracked job is waited for until it is handed over, though its caller has died", () => {
  const world = calmWorld();
  const now = world.timeline.now();
  const home = homeOf(now, now + MINUTE);
  const { id } = home;
  world.witness.written(undefined, toAttributes({ ...home, untracked: true }));
  expect(world.witness.unfinished(false)).toEqual([id]);
  const job = { id, revision: 0, attempt: 1, dueAt: new Date(now + MINUTE).toISOString(), body: {} };
  world.witness.handedOff({
    ...{ topic: "logs", carried: [job], visibleAt: now },
    ...{ isAnswered: true, knowsTopic: true },
  });
  expect(world.witness.unfinished(false)).toEqual([]);
});

it("a repeated call with a token may answer what others changed since, but a call that changed nothing breaks P1", () => {
  const violations: string[] = [];
  const { witness, timeline } = calmWorld(false, {}, ({ promise }) => violations.push(promise));
  const now = timeline.now();
  const home = { ...homeOf(now, now), askedAt: now };
  const { id } = home;
  // Nobody is named for a retry, so the witness asks for no caller.
  const log = [{ what: "retried", at: now, dueAt: now }];
  const row = (body: string, revision: number) =>
    toAttributes({ ...home, body: JSON.stringify(body), revision, ...(revision > 0 && { log }) });
  witness.written(undefined, row("first", 0));
  witness.written(row("first", 0), row("mine", 1));
  witness.written(row("mine", 1), row("theirs", 2));
  const told = { id, topic: "orders", state: "scheduled", dueAt: new Date(now).toISOString(), revision: 2 };
  witness.granted(told, { body: "mine" }, true);
  expect(violations).toEqual([]);
  witness.granted(told, { body: "mine" });
  witness.granted(told, { body: "never" }, true);
  expect(violations).toEqual(["P1", "P1"]);
});
