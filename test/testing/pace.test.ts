import { describe, expect, test } from "vitest";
import type { Run } from "../../src/testing/deliver.ts";
import { paceOf } from "../../src/testing/pace.ts";
import { START } from "../support/world.ts";

const RUN: Run = { topic: "orders", id: "x", attempt: 1, at: new Date(START), body: 1 };

/** A pace over numbers that a test sets. `run` makes steps with a run each, and `pace` makes a step without a run. */
function stepping() {
  const runs: Run[] = [];
  const seen = { time: START, waiting: 0 };
  const pace = paceOf(
    () => seen.time,
    runs,
    () => seen.waiting,
  );
  /** `filed`: how many messages each run sends. */
  const run = async (times: number, filed = 0): Promise<void> => {
    for (let i = 0; i < times; i++) {
      runs.push(RUN);
      seen.waiting = Math.max(seen.waiting - 1, 0) + filed;
      await pace();
    }
  };
  return { seen, pace, run };
}

describe("the limit of runs at one time of the clock", () => {
  test("is reached after 1,000 runs more than were due", async () => {
    const { run } = stepping();
    await run(1000);
    await expect(run(1)).rejects.toThrow(
      "1000 more runs took place than were due at 2026-03-01T09:00:00.000Z, and the last was of topic orders: no time passes while",
    );
  });

  test("is not reached if time passes between the runs", async () => {
    const { seen, run } = stepping();
    for (let i = 0; i < 1500; i++) {
      seen.time += 1;
      await run(1);
    }
  });

  test("is not reached by jobs that one tick sends at once, however many they are", async () => {
    const { seen, pace, run } = stepping();
    await run(500);
    seen.waiting = 3000;
    await pace();
    await run(4000);
    await expect(run(1)).rejects.toThrow("no time passes");
  });

  test("is not reached if one run files many jobs, but is reached if each of these jobs files one more", async () => {
    const { run } = stepping();
    await run(1, 1500);
    await run(1500);
    await run(1000);
    await expect(run(1)).rejects.toThrow(
      "2501 more runs took place than were due at 2026-03-01T09:00:00.000Z",
    );
  });

  test("is reached after 10,000 runs however many jobs each run files", async () => {
    const { run } = stepping();
    await run(10_000, 2);
    await expect(run(1, 2)).rejects.toThrow("10000 more runs took place than were due at");
  });

  test("lets the event loop turn between the runs", async () => {
    const { run } = stepping();
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    await run(100);
    expect(turned).toBe(true);
  });
});
