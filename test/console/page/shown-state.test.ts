import { expect, test } from "vitest";
import { shownState } from "../../../console/page/shown-state.ts";
import { isHolding } from "../../../src/client/holding.ts";

const scheduled = { state: "scheduled" } as const;

test.each([
  ["nothing", scheduled, "scheduled"],
  ["late", { ...scheduled, lateSince: "2026-11-26T10:00:00.000Z" }, "late"],
  ["held", { ...scheduled, held: true as const }, "held"],
  ["retrying", { ...scheduled, retrying: true as const }, "retrying"],
  ["that it has ended", { state: "done" as const }, "done"],
])("a job of which the API says %s is shown as %s, whatever the browser's clock says", (_, job, state) => {
  expect(shownState(job)).toBe(state);
});

test("a resume holds jobs until it has released the last one", () => {
  const since = "2026-11-26T10:00:00.000Z";
  expect(isHolding({ state: "resuming", since, parked: 3 })).toBe(true);
  expect(isHolding({ state: "resuming", since, parked: 0 })).toBe(false);
  expect(isHolding({ state: "paused", since, parked: 0 })).toBe(true);
});
