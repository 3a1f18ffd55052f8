import { expect, test } from "vitest";
import { type Pause, shownState } from "../../../console/page/shown-state.ts";

const NOW = Date.parse("2026-11-26T10:00:00.000Z");
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
const waiting = (due: number, held?: number) => ({
  state: "scheduled" as const,
  dueAt: at(due),
  ...(held === undefined ? {} : { heldUntil: at(held) }),
});
const pause = (state: Pause["state"], parked: number): Pause => ({ state, since: at(-900), parked });

test.each([
  ["due soon", waiting(60), "scheduled"],
  ["due a moment ago", waiting(-2), "scheduled"],
  ["due long ago", waiting(-60), "late"],
  ["with a later start", waiting(-60, 60), "held"],
  ["with a later start that has passed", waiting(-60, -30), "late"],
  ["ended", { ...waiting(-60), state: "done" as const }, "done"],
])("without a pause, a job that is %s is %s", (_, job, state) => {
  expect(shownState(job, NOW, undefined)).toBe(state);
});

test.each([
  ["due soon", waiting(60), "scheduled"],
  ["due a moment ago", waiting(-2), "held"],
  ["due long ago", waiting(-60), "held"],
  ["with a later start that has passed", waiting(-60, -30), "held"],
  ["running", { ...waiting(-60), state: "running" as const }, "running"],
])("while its topic is paused, a job that is %s is %s", (_, job, state) => {
  expect(shownState(job, NOW, pause("paused", 0))).toBe(state);
});

test("a resume holds jobs until it has released the last one", () => {
  expect(shownState(waiting(-60), NOW, pause("resuming", 3))).toBe("held");
  expect(shownState(waiting(-60), NOW, pause("resuming", 0))).toBe("late");
});
