import { SendMessageBatchCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { expect, it } from "vitest";
import { sqsQueues } from "../../../src/aws/queues.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { enqueue } from "../../../src/protocol/file/enqueue.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { receive } from "../../../src/protocol/run/pull.ts";
import { memoryPool } from "../../../src/testing/memory-pool.ts";
import { createWorld } from "../../support/world.ts";
import { drawsOf } from "../draws.ts";
import type { Fate } from "../faults/fate.ts";
import type { Spell } from "../faults/spells.ts";
import { type Plan, planOf } from "../faults.ts";
import { startMachine } from "../machine.ts";
import { clientOn, type Network } from "../network.ts";
import { simulatedSqs } from "../services/sqs.ts";
import { type Timeline, timelineFrom } from "../timeline.ts";

const NOW = Date.UTC(2026, 2, 1, 9);

function planWith(kind: Spell["kind"]): { plan: Plan; spell: Spell } {
  const settings = {
    start: NOW,
    stretch: { span: 1_800_000, spells: { long: 60_000, short: 1000 }, faultRates: [0.01], shards: 2 },
    roles: [],
    suppressed: new Set(["api-1#0"]),
  };
  for (let seed = 1; seed < 1000; seed++) {
    const plan = planOf(seed, { ...settings, topics: ["mail", "orders"], onFault: () => {} });
    const spell = plan.spells.find((one) => one.kind === kind);
    if (spell) return { plan, spell };
  }
  throw new Error(`no seed has ${kind}`);
}

function queueOn(timeline: Timeline, topic: string, fateOf: Network["fateOf"]) {
  const sqs = simulatedSqs({
    ...{ clock: timeline.now, topics: [topic], inFlight: () => 10, unwanted: "\u0000", pick: () => 0 },
    ...{ onVisible: () => {}, onRefused: () => {}, onSent: () => {} },
  });
  const network: Network = { timeline, seed: 1, fateOf, beforeEffect: () => {}, onArrival: () => {} };
  const machine = startMachine("tick-1", 1, 0, timeline);
  return { sqs, machine, client: clientOn<SQSClient>(network, machine, "sqs", sqs) };
}

function isUnanswered({ plan, spell }: ReturnType<typeof planWith>, service: string, input: object): boolean {
  const machine = startMachine("tick-1", 1, 0, timelineFrom(NOW));
  const call = { machine, index: 0, service, operation: "any", input, chain: 0 };
  const during = plan.fateOf(call, drawsOf(1, "call"), (spell.from + spell.to) / 2);
  return during.answer === Number.POSITIVE_INFINITY;
}

it("one queue hangs, and no other", () => {
  const found = planWith("queue-hangs");
  const other = ["mail", "orders"].find((topic) => topic !== found.spell.topic);
  expect(isUnanswered(found, "sqs", { QueueUrl: found.spell.topic })).toBe(true);
  expect(isUnanswered(found, "sqs", { QueueUrl: other })).toBe(false);
});

it("one shard's buckets hang, whatever operation asks for them, and no other shard's", () => {
  const found = planWith("shard-hangs");
  const { shard } = found.spell;
  const bucket = { S: `2026-03-01T09:15#${shard}` };
  expect(isUnanswered(found, "dynamodb", { ExpressionAttributeValues: { ":pk": bucket } })).toBe(true);
  expect(isUnanswered(found, "dynamodb", { Key: { pk: bucket } })).toBe(true);
  expect(isUnanswered(found, "dynamodb", { Key: { pk: { S: `2026-03-01T09:15#${1 - shard}` } } })).toBe(
    false,
  );
  expect(isUnanswered(found, "dynamodb", { Key: { pk: { S: "meta" } } })).toBe(false);
});

it("some partitions refuse all requests for a while, and others then", () => {
  const { plan, spell } = planWith("partitions-fail");
  const machine = startMachine("api-1", 1, 0, timelineFrom(NOW));
  const refused = (pk: string, time: number) => {
    const Key = { pk: { S: pk } };
    const call = { machine, index: 0, service: "dynamodb", operation: "GetItem", input: { Key }, chain: 0 };
    const fate = plan.fateOf(call, drawsOf(1, "call"), time);
    const fails = fate.entryFails(drawsOf(1, "entry"), "home", pk) !== undefined;
    expect(fails).toBe(fate.refusal !== undefined);
    return fails;
  };
  const partitions = Array.from({ length: 100 }, (_, i) => `once#orders#${i}`);
  const [first, last] = [spell.from, spell.to - 1].map((time) =>
    partitions.filter((pk) => refused(pk, time)),
  );
  expect(first?.length).toBeGreaterThan(10);
  expect(first?.length).toBeLessThan(90);
  expect(last).not.toEqual(first);
});

it("ticks wait seconds for their answers, and no other machine does", () => {
  const { plan, spell } = planWith("slow-ticks");
  const longest = (name: string): number => {
    const machine = startMachine(name, 1, 0, timelineFrom(NOW));
    const answers = Array.from({ length: 50 }, (_, index) => {
      const call = { machine, index, service: "sqs", operation: "any", input: {}, chain: 0 };
      return plan.fateOf(call, drawsOf(index, "call"), (spell.from + spell.to) / 2).answer;
    });
    return Math.max(...answers.filter(Number.isFinite));
  };
  expect(longest("tick-1")).toBeGreaterThan(2000);
  expect(longest("api-1")).toBeLessThan(100);
});

it("a client gives up each try of a call that hangs, and a lost request has no effect", async () => {
  const timeline = timelineFrom(NOW);
  const fate: Fate = {
    request: Number.POSITIVE_INFINITY,
    answer: Number.POSITIVE_INFINITY,
    freeze: 0,
    entryFails: () => undefined,
  };
  const { sqs, client } = queueOn(timeline, "mail", () => fate);
  const Entries = [{ Id: "0", MessageBody: "hello" }];
  let failure: unknown;
  client.send(new SendMessageBatchCommand({ QueueUrl: "mail", Entries })).catch((thrown: unknown) => {
    failure = thrown;
  });
  await timeline.run(NOW + 60_000, () => failure !== undefined);
  expect(failure).toMatchObject({ name: "TimeoutError" });
  expect(timeline.now() - NOW).toBeGreaterThanOrEqual(3 * 5000);
  expect(sqs.messages("mail")).toEqual([]);
});

it("a request that arrives with a signature that is too old is sent again", async () => {
  const timeline = timelineFrom(NOW);
  const takes = [301_000, 1];
  const { sqs, client } = queueOn(timeline, "mail", () => {
    return { request: takes.shift() ?? 1, answer: 1, freeze: 0, entryFails: () => undefined };
  });
  const Entries = [{ Id: "0", MessageBody: "hello" }];
  const sent = client.send(new SendMessageBatchCommand({ QueueUrl: "mail", Entries }), {
    requestTimeout: 600_000,
  });
  await timeline.run(NOW + 600_000, () => false);
  expect(await sent).toEqual({ Failed: [] });
  expect(sqs.messages("mail")).toHaveLength(1);
});

it("jobs that a receive has claimed are handed out soon, though the deletes of void messages hang", async () => {
  const timeline = timelineFrom(NOW);
  const hangs = { request: 1, answer: Number.POSITIVE_INFINITY, freeze: 0, entryFails: () => undefined };
  const { machine, client } = queueOn(timeline, "work", ({ operation }) => {
    return { ...hangs, answer: operation === "DeleteMessageBatch" ? hangs.answer : 1 };
  });
  const ctx: Context = {
    ...createWorld().ctx,
    clock: timeline.now,
    pool: memoryPool({ clock: timeline.now, createdAt: NOW - 3_600_000 }),
    queues: sqsQueues({ client, urlPrefix: "" }),
  };
  let took: number | undefined;
  const play = async (): Promise<void> => {
    const job = { topic: "work", body: "{}", dueAt: timeline.now() };
    const { home: kept } = await enqueue(ctx, job);
    const { home: gone } = await enqueue(ctx, job);
    await cancel(ctx, gone.id);
    const asked = timeline.now();
    const jobs = await receive(ctx, "work", { max: 10, waitSeconds: 0 }, machine.timers);
    expect(jobs).toMatchObject([{ id: kept.id }]);
    took = timeline.now() - asked;
  };
  const played = play();
  await timeline.run(NOW + 60_000, () => took !== undefined);
  await played;
  expect(took).toBeLessThan(5000);
});
