import { expect, test } from "vitest";
import { MinutehandError } from "../../../src/core/errors.ts";
import type { Home } from "../../../src/core/home.ts";
import { jobText, type MessageJob, messageText, parseMessage } from "../../../src/core/message.ts";
import { cancel } from "../../../src/protocol/change/cancel.ts";
import { claim } from "../../../src/protocol/run/claim.ts";
import { createWorld, SECOND, type World } from "../../support/world.ts";

function jobOf(home: Home): MessageJob {
  const [job] = parseMessage(messageText(home.topic, home.group, [jobText(home)]))?.jobs ?? [];
  if (!job) throw new Error("the home has no message");
  return job;
}

async function verdictsOf(world: World, homes: readonly Home[]): Promise<string[]> {
  const { rest } = await claim(world.ctx, "orders", homes.map(jobOf), world.now() + 300 * SECOND);
  return (await rest).map(({ verdict }) => verdict);
}

test("the verdicts of a batch stand although the claim of a void message's job fails", async () => {
  const world = createWorld({ topics: { orders: {} } });
  const ended = await world.file({});
  await cancel(world.ctx, ended.id);
  const postponed = { key: "a", onDuplicate: "postpone", delay: 0, maxDelay: 1 } as const;
  const moved = await world.file(postponed);
  await world.pass(SECOND, { ticks: false });
  await world.fileAll({ ...postponed, body: "2" });
  await world.pass(10 * SECOND, { ticks: false });
  const { changeMany, read } = world.pool;
  let claims = 0;
  world.pool.changeMany = async (...given) => {
    const outcomes = await changeMany.apply(world.pool, given);
    claims += 1;
    // Now the known pause is too old for another claim.
    await world.pass(6 * SECOND, { ticks: false });
    return outcomes;
  };
  world.pool.read = async (keys) => {
    if (claims > 0 && keys.some(({ pk }) => pk === "pause#orders")) throw new Error("no pause");
    return read.call(world.pool, keys);
  };
  expect(await verdictsOf(world, [ended, moved])).toEqual(["void", "left"]);
});

test("the other verdicts of a batch without an answer stand although one claim cannot be given back", async () => {
  const world = createWorld({ topics: { orders: {} } });
  const [stuck, ended, given] = [await world.file({}), await world.file({}), await world.file({})];
  await cancel(world.ctx, ended.id);
  const { changeMany, change } = world.pool;
  let calls = 0;
  world.pool.changeMany = async (changes, by, onChanged) => {
    calls += 1;
    if (calls > 1) return changeMany.call(world.pool, changes, by, onChanged);
    const outcomes = await changeMany.call(world.pool, changes, by);
    return outcomes.map(() => new MinutehandError("unavailable", "no answer"));
  };
  world.pool.change = async (wanted, by) => {
    if (wanted.key.sk.includes(stuck.id)) throw new Error("it cannot be given back");
    return change.call(world.pool, wanted, by);
  };
  expect(await verdictsOf(world, [stuck, ended, given])).toEqual(["left", "void", "void"]);
});
