import { expect, test } from "vitest";
import { META_KEY } from "../../../src/core/item-keys.ts";
import { beginBulk } from "../../../src/protocol/change/begin-bulk.ts";
import { runBulk } from "../../../src/protocol/change/bulk.ts";
import { pauseTopic } from "../../../src/protocol/change/pause.ts";
import { enqueue, enqueueMany } from "../../../src/protocol/file/enqueue.ts";
import { resume } from "../../../src/protocol/hand-over/release.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import { listJobs } from "../../../src/protocol/read/list.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, HOUR, MINUTE, SECOND, type World } from "../../support/world.ts";

/** Another process with the same services, which has read nothing yet. */
const processOf = (world: World): Context => ({ ...world.ctx, pool: Object.create(world.pool) });

/** DynamoDB does not answer reads of the number of shards. */
function hideMeta(world: World): void {
  world.pool.hooks.before = ({ keys }) => {
    if (keys.some(({ pk }) => pk === META_KEY.pk)) throw new Error("throttled");
  };
}

test("jobs are filed, swept and on time while the number of shards cannot be read", async () => {
  const world = createWorld({ shards: 4 });
  await world.tick();
  const jobs = [];
  for (let i = 0; i < 20; i++) jobs.push(await world.file({ delay: 20 * MINUTE + i * SECOND }));
  hideMeta(world);
  await world.pass(10 * MINUTE);
  for (const ctx of [world.ctx, processOf(world)])
    jobs.push((await enqueue(ctx, { topic: "orders", body: "{}", dueAt: world.now() + 10 * MINUTE })).home);
  await world.pass(10 * MINUTE + 20 * SECOND);
  const sent = new Set(world.visible("orders").map(({ id }) => id));
  expect(jobs.filter(({ id }) => !sent.has(id))).toEqual([]);
});

test.each([
  ["a limit", { maxPerSecond: 1 }, undefined],
  ["a resume at a rate", {}, 1],
] as const)(
  "jobs that %s has parked are released while the number of shards cannot be read",
  async (_, policy, rate) => {
    const world = createWorld({ shards: 4, topics: { t: policy, other: {} } });
    await world.tick();
    if (rate !== undefined) await pauseTopic(world.ctx, "t");
    const jobs = Array.from({ length: 300 }, () => ({ topic: "t", body: "{}", dueAt: world.now() }));
    await enqueueMany(world.ctx, jobs);
    if (rate !== undefined) await resume(world.ctx, "t", rate);
    hideMeta(world);
    const ran = new Set<string>();
    for (let i = 0; i < 6 * 60; i++) {
      for (const { id } of await consume(world, "t")) ran.add(id);
      await world.pass(SECOND);
    }
    expect(ran.size).toBe(300);
  },
);

test("a list that might miss jobs is refused while the number of shards cannot be read", async () => {
  const world = createWorld({ shards: 4 });
  await world.tick();
  hideMeta(world);
  const range = { topic: "orders", from: world.now(), to: world.now() + HOUR, limit: 10 };
  await expect(listJobs(processOf(world), range)).rejects.toThrow("throttled");
});

test("lists and bulks find what others have filed since the shards were raised a moment ago", async () => {
  const world = createWorld({ shards: 2 });
  await world.tick();
  // This process has the new configuration, but it read the number of shards before the first tick with it.
  const api = processOf(world);
  (world.ctx.policy as { shards: number }).shards = 8;
  const range = { topic: "orders", from: world.now(), to: world.now() + 2 * HOUR };
  await listJobs(api, { ...range, limit: 1 });
  await world.tick();
  const other = processOf(world);
  for (let i = 0; i < 40; i++)
    await enqueue(other, { topic: "orders", body: "{}", dueAt: world.now() + HOUR });
  expect((await listJobs(api, { ...range, limit: 100 })).homes).toHaveLength(40);
  const asked = { action: "cancel", topic: "orders", dryRun: false } as const;
  expect((await runBulk(api, asked, beginBulk(api, "cancel", range))).changed).toBe(40);
  await world.pass(HOUR + MINUTE);
  expect(await consume(world, "orders")).toEqual([]);
});
