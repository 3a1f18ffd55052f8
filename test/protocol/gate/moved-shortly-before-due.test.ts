import { describe, expect, test } from "vitest";
import { reschedule } from "../../../src/protocol/change/reschedule.ts";
import { consume } from "../../support/consume.ts";
import { createWorld, MINUTE, SECOND, type World } from "../../support/world.ts";

const LIMIT = 10;
const JOBS_A_SECOND = 4;
const SECONDS = 90;

/** How many starts the limit has counted. */
function countedStarts(world: World): number {
  return world.pool
    .items()
    .filter(({ pk }) => pk.startsWith("starts#"))
    .flatMap((item) => Object.entries(item))
    .reduce((sum, [name, value]) => (/^s\d+$/.test(name) ? sum + Number(value) : sum), 0);
}

type Move = (world: World, id: string, key: string) => Promise<unknown>;

/**
 * Files four jobs in each second, due 60 s later, and moves each once, 20 s later, to 60 s from then. Consumes each second. Answers by
 * how much each run was late, in ms.
 */
async function runMoved(world: World, move: Move): Promise<{ late: number[]; held: number }> {
  const late: number[] = [];
  let held = 0;
  const filed: { id: string; key: string }[][] = [];
  for (let second = 0; second < SECONDS + 3 * 60; second++) {
    const fresh: { id: string; key: string }[] = [];
    for (let i = 0; i < JOBS_A_SECOND && second < SECONDS; i++) {
      const key = `k${second}-${i}`;
      const { id } = await world.file({ topic: "calls", key, delay: MINUTE });
      fresh.push({ id, key });
    }
    filed.push(fresh);
    for (const { id, key } of filed[second - 20] ?? []) await move(world, id, key);
    await world.pass(SECOND);
    while (world.visible("calls").length > 0)
      for (const { at, id } of await consume(world, "calls")) {
        const home = await world.home(id);
        late.push(at - home.dueAt);
        if (home.heldUntil !== undefined) held += 1;
      }
  }
  return { late, held };
}

describe("jobs of a limited topic that are moved once, shortly before they are due,", () => {
  const moves: Record<string, Move> = {
    "by their ids": (world, id) => reschedule(world.ctx, id, { dueAt: world.now() + MINUTE }),
    "by their keys": (world, _, key) =>
      world.fileAll({ topic: "calls", key, delay: MINUTE, onDuplicate: "replace" }),
  };
  test.each(Object.entries(moves))("%s, take one start for each time, and start on time", async (_, move) => {
    const world = createWorld({ topics: { calls: { maxPerSecond: LIMIT } } });
    // Without a sweep before, the first one would send these jobs too.
    await world.tick();
    const { late, held } = await runMoved(world, move);
    const jobs = SECONDS * JOBS_A_SECOND;
    expect(late).toHaveLength(jobs);
    expect(Math.max(...late)).toBeLessThanOrEqual(2 * SECOND);
    expect({ starts: countedStarts(world), held }).toEqual({ starts: 2 * jobs, held: 0 });
  });
});
