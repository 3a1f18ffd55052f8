import { expect, test } from "vitest";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { send } from "../../../src/protocol/send/send.ts";
import { createWorld, MINUTE, SECOND } from "../../support/world.ts";

test("a topic with malformed settings keeps no other topic's jobs waiting", async () => {
  const world = createWorld({ shards: 1, topics: { orders: {}, bad: {} } });
  await world.file({ delay: 10 * MINUTE });
  await world.file({ topic: "bad", delay: 10 * MINUTE });
  Object.assign(world.ctx.policy.topics, { bad: { backoff: "5m" } });
  await world.pass(10 * MINUTE + 5 * SECOND);
  expect(world.visible("orders")).toHaveLength(1);
});

test("a topic that is paused while others are slow is asked for again before its jobs are sent", async () => {
  const names = Array.from({ length: 9 }, (_, i) => `t${i}`);
  const world = createWorld({ topics: Object.fromEntries(names.map((name) => [name, {}])) });
  const homes = [];
  for (const topic of names) homes.push(await world.file({ topic, delay: 2 * MINUTE }));
  const { send: sendMessages } = world.queues;
  let isFirst = true;
  world.queues.send = async (queue, messages) => {
    if (isFirst) {
      isFirst = false;
      await pauseTopic(world.ctx, "t8");
      await world.pass(8 * SECOND, { ticks: false });
    }
    return sendMessages.call(world.queues, queue, messages);
  };
  // Eight topics are worked on at once, so the ninth waits.
  const outcomes = await send(world.ctx, homes);
  expect(outcomes.get(homes[8]?.id ?? "")).toEqual({ outcome: "held" });
  expect(world.visible("t8")).toEqual([]);
});
