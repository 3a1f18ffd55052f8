import { expect, test } from "vitest";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { tick } from "../../../src/protocol/hand-over/tick.ts";
import type { Context } from "../../../src/protocol/ports.ts";
import type { TopicPolicy } from "../../../src/settings/policy.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE, SECOND } from "../../support/world.ts";

const IF_LATE = { ifLate: { after: 60, do: "skip" } } as const;
type Change = { before: Partial<TopicPolicy>; jobs: number; putOff: boolean; minute: number; eager: boolean };

/** The states of jobs that a limit has parked, half an hour after a deployment has removed the limit. */
async function statesAfter({ before, jobs, putOff, minute, eager }: Change): Promise<Set<string>> {
  const world = createWorld({ topics: { t: { ...before, ...IF_LATE } } });
  let ctx: Context = world.ctx;
  const runAll = async (): Promise<void> => {
    while ((await consume(world, "t", { ctx })).length > 0);
  };
  let isRunning = false;
  if (eager)
    world.queues.hooks.after = async ({ operation }) => {
      if (operation !== "send" || isRunning) return;
      isRunning = true;
      await runAll();
      isRunning = false;
    };
  await world.tick();
  const ids: string[] = [];
  for (let i = 0; i < jobs; i++)
    ids.push((await world.file({ topic: "t", delay: 300 * SECOND + i * 250 })).id);
  for (let second = 1; second <= (minute + 30) * 60; second++) {
    await world.pass(SECOND, { ticks: false });
    if (putOff && second === 290)
      for (const id of ids) await reschedule(ctx, id, { dueAt: (await world.home(id)).dueAt + 180 * SECOND });
    if (second === minute * 60 - 30)
      ctx = { ...ctx, policy: { ...ctx.policy, topics: { t: { ...IF_LATE } } } };
    if (world.now() % MINUTE === 0) await tick(ctx, world.now() + MINUTE);
    await runAll();
  }
  return new Set(await Promise.all(ids.map(async (id) => (await world.home(id)).state)));
}

const SLOW = { maxPerSecond: 0.1 };
const SHUT = { maxPerSecond: 1, window: "11:30-12:00 UTC" };

test.each([
  ["and its audit comes in the same tick", { before: SLOW, jobs: 400, putOff: false, minute: 13 }],
  ["though they had been put off", { before: SHUT, jobs: 100, putOff: true, minute: 10 }],
])(
  "jobs that a limit held do not count as late when a deployment removes the limit, %s",
  async (_, change) => {
    expect(await statesAfter({ ...change, eager: false })).toEqual(new Set(["done"]));
    expect(await statesAfter({ ...change, eager: true })).toEqual(new Set(["done"]));
  },
);
