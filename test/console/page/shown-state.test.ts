import { expect, test } from "vitest";
import { shownState } from "../../../console/page/shown-state.ts";
import { isHolding } from "../../../src/client/holding.ts";

const scheduled = { state: "scheduled", attempt: 0 } as const;
const failed = { ...scheduled, attempt: 2, lastError: "503" };

test.each([
  ["nothing", scheduled, "scheduled"],
  ["late", { ...scheduled, lateSince: "2026-11-26T10:00:00.000Z" }, "late"],
  ["held", { ...scheduled, held: true as const }, "held"],
  ["that it has failed", failed, "retrying"],
  ["that it has failed, and that a pause holds it", { ...failed, held: true as const }, "held"],
  ["that it asked to run again", { ...scheduled, attempt: 2 }, "scheduled"],
  ["that a caller moved it after it had failed", { ...failed, attempt: 0 }, "scheduled"],
  ["that it has ended", { state: "done" as const, attempt: 2, lastError: "503" }, "done"],
])("a job of which the API says %s is shown as %s, whatever the browser's clock says", (_, job, state) => {
  expect(shownState(job)).toBe(state);
});

test("a resume holds jobs until it has released the last one", () => {
  const since = "2026-11-26T10:00:00.000Z";
  expect(isHolding({ state: "resuming", since, parked: 3 })).toBe(true);
  expect(isHolding({ state: "resuming", since, parked: 0 })).toBe(false);
  expect(isHolding({ state: "paused", since, parked: 0 })).toBe(true);
});
