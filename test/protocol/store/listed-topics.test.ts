import { expect, test } from "vitest";
import { LIMITED_TOPICS, limitedKey } from "../../../src/core/item-keys.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { listedTopics, listTopic } from "../../../src/protocol/store/listed-topics.ts";
import { createWorld, MINUTE } from "../../support/world.ts";

test("all listed topics are read though DynamoDB answers fewer at once", async () => {
  const { ctx, now } = createWorld();
  const topics = Array.from({ length: 7 }, (_, i) => `topic-${i}`);
  for (const topic of topics) await listTopic(ctx, limitedKey(topic), now() + MINUTE);
  const page: Context["pool"]["page"] = (pk, from, before) => ctx.pool.page(pk, from, before, 2);
  expect(await listedTopics({ ...ctx, pool: { ...ctx.pool, page } }, LIMITED_TOPICS)).toEqual(topics);
});
