import { expect, test } from "vitest";
import { createPatience, type Waiting } from "../../../console/page/patience.ts";

function counting() {
  const told: Waiting[] = [];
  let now = 0;
  const keep = createPatience(
    () => "40 %",
    (waiting) => told.push(waiting),
    () => now,
  );
  /** Whether a part of the counting may go on at this time. */
  const mayGoOn = async (at: number) => {
    now = at;
    let isOver = false;
    const kept = keep().then(() => {
      isOver = true;
    });
    await new Promise(setImmediate);
    return { isOver, kept };
  };
  return { told, mayGoOn };
}

test("a counting goes on for 30 s, and then says how much it has counted and waits", async () => {
  const { told, mayGoOn } = counting();
  expect((await mayGoOn(29_999)).isOver).toBe(true);
  expect(told).toEqual([]);
  expect((await mayGoOn(30_000)).isOver).toBe(false);
  const status = "40 % of this time is counted, after 30 s. The other bars are too low or missing.";
  expect(told).toEqual([{ goOn: expect.any(Function), status, isReading: false }]);
});

test("all parts of a counting wait, and the user is told once", async () => {
  const { told, mayGoOn } = counting();
  const parts = [await mayGoOn(31_000), await mayGoOn(31_500), await mayGoOn(95_000)];
  expect(parts.map(({ isOver }) => isOver)).toEqual([false, false, false]);
  expect(told).toHaveLength(1);
  told[0]?.goOn?.();
  await Promise.all(parts.map(({ kept }) => kept));
  expect(told.slice(1)).toEqual([{ goOn: undefined, isReading: true }]);
});

test("the counting that went on waits again after twice the time, which begins when the user asks", async () => {
  const { told, mayGoOn } = counting();
  await mayGoOn(30_000);
  const late = await mayGoOn(100_000);
  told[0]?.goOn?.();
  await late.kept;
  expect((await mayGoOn(159_999)).isOver).toBe(true);
  expect((await mayGoOn(160_000)).isOver).toBe(false);
  expect(told.at(-1)?.status).toContain("after 1 min");
});
