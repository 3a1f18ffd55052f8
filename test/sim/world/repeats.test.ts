import { expect, it } from "vitest";
import type { Home } from "../../../src/core/home.ts";
import { repeatsOf } from "../witness/repeats.ts";

/** What is broken when one call with an `Idempotency-Key` asks for one job, and these are stored. A job `over…` ended long ago. */
function brokenBy(...homes: { id: string }[]): string[] {
  const broken: string[] = [];
  const isOver = (id: string) => id.startsWith("over");
  const repeats = repeatsOf({ clock: () => 0, skew: 0, broken: (_, text) => broken.push(text) }, isOver);
  repeats.asked([{ n: 1 }]);
  for (const home of homes) repeats.created({ body: '{"n":1}', ...home } as Home);
  repeats.created({ id: "another", body: '{"n":2}' } as Home);
  return broken;
}

it("a call that files a second job breaks a promise, whether it was answered or not", () => {
  expect(brokenBy({ id: "a" }, { id: "a" })).toEqual([]);
  expect(brokenBy({ id: "a" }, { id: "b" })).toEqual(['one call filed a and b: {"n":1}']);
});

it("a job that ended long ago need not be found", () => {
  expect(brokenBy({ id: "over" }, { id: "b" })).toEqual([]);
});
