import type { Context as LambdaContext, SQSEvent } from "aws-lambda";
import { describe, expect, it } from "vitest";
import type { Call, Reply } from "../../../src/consumer/webhook/call.ts";
import { webhookRun } from "../../../src/consumer/webhook/run.ts";
import { webhookOn } from "../../../src/consumer/webhook.ts";
import { DEFAULT_BACKOFF } from "../../../src/core/backoff.ts";
import type { Home } from "../../../src/core/home.ts";
import { beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { runBulk } from "../../../src/protocol/change/bulk.ts";
import { redrive } from "../../../src/protocol/change/redrive.ts";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import type { Timers } from "../../../src/protocol/ports.ts";
import { consume, type Run } from "../../support/consume.ts";
import { createWorld, HOUR, SECOND, START, type World } from "../../support/world.ts";

const topic = "callbacks";
const secrets = ["A".repeat(44)];
const { signal } = new AbortController();

function createHooks(): World {
  return createWorld({ topics: { [topic]: { webhook: { timeout: 5 } } } });
}

async function file(world: World, more: { key?: string } = {}): Promise<Home> {
  return world.file({ topic, callbackUrl: "https://shop.example/hooks", body: '{"paid":true}', ...more });
}

/** Runs all waiting jobs now, by a bulk. */
function runAll({ ctx }: World): Promise<unknown> {
  const begun = beginBulk(ctx, "run", { from: START, to: START + HOUR });
  return runBulk(ctx, { action: "run", topic, dryRun: false }, begun);
}

/** A receiver that answers with these replies in order, and then always with the last one. `calls`: the calls that it got. */
function receiver(...replies: (Partial<Reply> | Error)[]) {
  const calls: Call[] = [];
  const post = async (call: Call): Promise<Reply> => {
    const reply = replies[Math.min(calls.push(call), replies.length) - 1];
    if (reply instanceof Error) throw reply;
    return { status: 200, body: "", ...reply };
  };
  return { calls, post };
}

/** Invokes the webhook's function once with the visible messages. */
function call(world: World, { post }: ReturnType<typeof receiver>): Promise<Run[]> {
  const run = webhookRun(world.ctx, { secrets, post });
  return consume(world, topic, { run: (job) => run(job, topic, signal) });
}

describe("a webhook job's way", () => {
  it("is repeated with the waits of its backoff until its receiver accepts the call", async () => {
    const world = createHooks();
    const shop = receiver({ status: 500, body: "down" }, new Error("no answer within 5 s"), {});
    const job = await file(world);
    await call(world, shop);
    expect(await world.home(job.id)).toMatchObject({
      state: "scheduled",
      lastError: "HTTP 500: down",
      dueAt: START + 15 * SECOND,
    });
    await world.pass(15 * SECOND);
    await call(world, shop);
    expect(await world.home(job.id)).toMatchObject({
      lastError: "no answer within 5 s",
      dueAt: START + 195 * SECOND,
    });
    await world.pass(180 * SECOND);
    await call(world, shop);
    expect(await world.home(job.id)).toMatchObject({ state: "done", attempt: 3 });
    expect(shop.calls.map(({ headers }) => headers["webhook-id"])).toEqual([job.id, job.id, job.id]);
    expect(shop.calls.map(({ headers }) => headers["minutehand-attempt"])).toEqual(["1", "2", "3"]);
    expect(shop.calls.map(({ url, body }) => `${url} ${body}`)).toEqual(
      Array(3).fill('https://shop.example/hooks {"paid":true}'),
    );
  });

  it("waits as long as its receiver asks", async () => {
    const world = createHooks();
    const job = await file(world);
    await call(world, receiver({ status: 503, retryAfter: "3600" }));
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", dueAt: START + 3600 * SECOND });
  });

  it("ends for good with the answer 410", async () => {
    const world = createHooks();
    const job = await file(world);
    await call(world, receiver({ status: 410 }));
    expect(await world.home(job.id)).toMatchObject({ state: "dead", attempt: 1, lastError: "HTTP 410" });
    expect(world.queues.messages({ topic, dead: true })).toHaveLength(1);
  });

  it("is dead after its last attempt, and its calls have another id after a redrive", async () => {
    const world = createHooks();
    const shop = receiver({ status: 500 });
    const job = await file(world);
    const waits = "waits" in DEFAULT_BACKOFF ? DEFAULT_BACKOFF.waits : [];
    for (const wait of [...waits, 0]) {
      await call(world, shop);
      await world.pass(wait * SECOND);
    }
    expect(shop.calls).toHaveLength(10);
    expect(await world.home(job.id)).toMatchObject({ state: "dead", attempt: 10, lastError: "HTTP 500" });
    expect(world.queues.messages({ topic, dead: true })).toHaveLength(1);

    expect(await redrive(world.ctx, topic, { max: 10, delay: 0 })).toEqual({ redriven: 1, left: 0 });
    const up = receiver({});
    await call(world, up);
    expect(up.calls.map(({ headers }) => headers["webhook-id"])).toEqual([`${job.id}-1`]);
    expect(await world.home(job.id)).toMatchObject({ state: "done", attempt: 1 });
  });

  it("has another id after each redrive", async () => {
    const world = createHooks();
    const shop = receiver({ status: 410 });
    const job = await file(world);
    await call(world, shop);
    for (const _ of [1, 2]) {
      await redrive(world.ctx, topic, { max: 1, delay: 0 });
      await call(world, shop);
    }
    const ids = shop.calls.map(({ headers }) => headers["webhook-id"]);
    expect(ids).toEqual([job.id, `${job.id}-1`, `${job.id}-2`]);
  });

  describe("that is changed after its receiver handled a call that timed out", () => {
    const again = {
      topic,
      key: "a",
      onDuplicate: "replace",
      callbackUrl: "https://shop.example/hooks",
    } as const;
    const changes: [string, (world: World, id: string) => Promise<unknown>, string][] = [
      ["to another time", ({ ctx }, id) => reschedule(ctx, id, { dueAt: START + HOUR }), ""],
      ["to the body that it has", ({ ctx }, id) => reschedule(ctx, id, { body: '{"paid":true}' }), ""],
      ["to another body", ({ ctx }, id) => reschedule(ctx, id, { body: "2" }), "-1"],
      ["by a bulk", runAll, ""],
      ["by its key, to another time", (world) => world.fileAll({ ...again, body: '{"paid":true}' }), ""],
      ["by its key, to another body", (world) => world.fileAll({ ...again, body: "2" }), "-1"],
      [
        "by its key, to another URL",
        (world) =>
          world.fileAll({ ...again, body: '{"paid":true}', callbackUrl: "https://shop.example/other" }),
        "-1",
      ],
      [
        "to another time, and then to another body",
        async ({ ctx }, id) => {
          await reschedule(ctx, id, { dueAt: START + HOUR });
          await reschedule(ctx, id, { body: "2" });
        },
        "-1",
      ],
      [
        "to another body, and then to a third body before the next call",
        async ({ ctx }, id) => {
          await reschedule(ctx, id, { body: "2" });
          await reschedule(ctx, id, { body: "3" });
        },
        "-1",
      ],
    ];
    it.each(changes)("%s", async (_, change, ending) => {
      const world = createHooks();
      const shop = receiver(new Error("no answer within 5 s"), {});
      const job = await file(world, { key: "a" });
      await call(world, shop);
      await change(world, job.id);
      await world.pass(2 * HOUR);
      await call(world, shop);
      const ids = shop.calls.map(({ headers }) => headers["webhook-id"]);
      expect(ids).toEqual([job.id, `${job.id}${ending}`]);
    });
  });
});

describe("a webhook's function", () => {
  const timers: Timers = { wait: async () => {}, after: () => () => {} };

  /** Invokes the function with the visible messages. It has `remaining` ms left. */
  async function invoke(
    world: World,
    remaining: number,
    settings: Partial<Parameters<typeof webhookOn>[1]> = {},
  ) {
    const messages = await world.queues.receive({ topic }, { max: 10, waitSeconds: 0, hideSeconds: 60 });
    const shop = receiver({});
    const handler = webhookOn(
      world.ctx,
      { topic, secrets: async () => secrets, post: shop.post, ...settings },
      timers,
      () => {},
    );
    const Records = messages.map(({ body, handle }) => ({ messageId: handle, receiptHandle: handle, body }));
    const answer = await handler(
      { Records } as SQSEvent,
      { getRemainingTimeInMillis: () => remaining } as LambdaContext,
    );
    return { answer, shop };
  }

  it("claims no job while it has no secret, so that no attempt is used up", async () => {
    const world = createHooks();
    const job = await file(world);
    const failing = { secrets: () => Promise.reject(new Error("no secret")) };
    await expect(invoke(world, 30_000, failing)).rejects.toThrow("no secret");
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", attempt: 0, revision: 0 });
    expect(world.queues.messages({ topic })).toHaveLength(1);
    await world.pass(60 * SECOND);
    const { shop } = await invoke(world, 30_000);
    expect(shop.calls).toHaveLength(1);
  });

  it("is signed with the receivers' time, also while the clock of a local stack is ahead of it", async () => {
    const world = createHooks();
    await file(world);
    await world.pass(60 * SECOND);
    const { shop } = await invoke(world, 30_000, { clock: () => 1_700_000_000_500 });
    expect(shop.calls.map(({ headers }) => headers["webhook-timestamp"])).toEqual(["1700000000"]);
  });

  it("claims nothing while its secret cannot sign", async () => {
    const world = createHooks();
    const job = await file(world);
    await expect(invoke(world, 30_000, { secrets: async () => ["{}"] })).rejects.toThrow("must be base64");
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", attempt: 0 });
  });

  it("begins no call that could last past its deadline", async () => {
    const world = createHooks();
    const job = await file(world);
    const late = await invoke(world, 6_000);
    expect(late.shop.calls).toEqual([]);
    expect(await world.home(job.id)).toMatchObject({ state: "scheduled", attempt: 0 });
    const { shop } = await invoke(world, 8_000);
    expect(shop.calls).toHaveLength(1);
  });
});
