import { describe, expect, test } from "vitest";
import type { CarriedAction, CarriedLine, Change } from "../../../console/carried.ts";
import { isShiftedBack, listsAfter, shiftBackOf } from "../../../console/page/after-action.ts";

const RANGE = { from: "2031-01-01T00:00:00.000Z", to: "2031-01-02T00:00:00.000Z" };
const AT = "2030-12-01T12:00:00.000Z";

const line = (which: Partial<CarriedLine["which"]>, given: Partial<CarriedLine> = {}): CarriedLine => ({
  which: { topic: "work", ...RANGE, ...which },
  ...{ counted: 3, changed: 3, skipped: {}, left: [], key: "key", isDone: true },
  ...given,
});

/** An action that began at `AT` and took a minute. */
function actionOf(change: Change, ...lines: CarriedLine[]): CarriedAction {
  return { id: "id", state: "done", change, at: AT, lines, startedAgo: 90_000, endedAgo: 30_000 };
}

/** The queries of the lists, each with the topics of its jobs. */
const queriesOf = (action: CarriedAction) =>
  listsAfter(action).map(({ of, href }) => [
    of.map(({ topic }) => topic).join(),
    Object.fromEntries(new URL(href, "http://page").searchParams),
  ]);

describe("the list after an action", () => {
  test.each<[string, Change, object]>([
    ["a cancel", { action: "cancel" }, { state: "cancelled", ...RANGE }],
    [
      "a shift",
      { action: "move", shift: "-30m" },
      { from: "2030-12-31T23:30:00.000Z", to: "2031-01-01T23:30:00.000Z" },
    ],
    [
      "a move to one time",
      { action: "move", dueAt: "2031-02-01T09:00:00.000Z" },
      { from: "2031-02-01T09:00:00.000Z", to: "2031-02-01T09:00:01.000Z" },
    ],
    [
      "a move at a rate of one job in ten seconds",
      { action: "move", dueAt: "2031-02-01T09:00:00.000Z", ratePerSecond: 0.1 },
      { from: "2031-02-01T09:00:00.000Z", to: "2031-02-01T09:00:31.000Z" },
    ],
    [
      "a run, which took a minute",
      { action: "run" },
      { from: "2030-12-01T11:59:58.000Z", to: "2030-12-01T12:01:02.000Z" },
    ],
  ])("%s has the range in which its jobs are now", (_, change, query) => {
    const asked = actionOf(change, line({ tag: "a" }));
    expect(queriesOf(asked)).toEqual([["work", { topic: "work", tag: "a", ...query }]]);
  });

  test("a shift into the past has the jobs that became due at once too", () => {
    const shifted = actionOf({ action: "move", shift: "-1000h" }, line({}));
    expect(queriesOf(shifted)).toEqual([
      ["work", { topic: "work", from: "2030-11-20T08:00:00.000Z", to: "2030-12-01T12:01:02.000Z" }],
    ]);
  });

  test("a dismissal has at most the last 31 days of its range", () => {
    const dismissed = actionOf({ action: "dismiss" }, line({ from: "2030-01-01T00:00:00.000Z" }));
    expect(queriesOf(dismissed)).toEqual([
      ["work", { topic: "work", state: "cancelled", from: "2030-12-02T00:00:00.000Z", to: RANGE.to }],
    ]);
  });

  test("names one list for each tag and group, and leaves out lines without changed jobs", () => {
    const cancelled = actionOf(
      { action: "cancel" },
      line({ tag: "a" }),
      line({ tag: "a", topic: "days" }),
      line({ tag: "b" }),
      line({ tag: "c" }, { changed: 0 }),
    );
    expect(queriesOf(cancelled)).toEqual([
      ["work,days", { tag: "a", state: "cancelled", ...RANGE }],
      ["work", { topic: "work", tag: "b", state: "cancelled", ...RANGE }],
    ]);
  });

  test("an action that was stopped has the range that it had reached", () => {
    const reached = "2031-01-01T06:00:00.000Z";
    const stopped = actionOf({ action: "cancel" }, line({}, { isDone: false, reached }));
    expect(queriesOf(stopped)).toEqual([
      ["work", { topic: "work", state: "cancelled", from: RANGE.from, to: reached }],
    ]);
  });
});

describe("what undoes an action", () => {
  test("is the opposite shift of each line, in its shifted range, as far as it came", () => {
    const reached = "2031-01-01T06:00:00.000Z";
    const shifted = actionOf(
      { action: "move", shift: "90m" },
      line({ tag: "a" }),
      line({ tag: "b" }, { changed: 2, isDone: false, reached }),
      line({ tag: "c" }, { changed: 0 }),
    );
    expect(shiftBackOf(shifted)).toEqual({
      shift: { text: "-90m", ms: -5_400_000 },
      lines: [
        {
          which: {
            topic: "work",
            tag: "a",
            from: "2031-01-01T01:30:00.000Z",
            to: "2031-01-02T01:30:00.000Z",
          },
          by: "bulk",
        },
        {
          which: {
            topic: "work",
            tag: "b",
            from: "2031-01-01T01:30:00.000Z",
            to: "2031-01-01T07:30:00.000Z",
          },
          by: "bulk",
        },
      ],
      moved: 5,
    });
  });

  test("is not offered once more after it was done, because the jobs would move too far", () => {
    const shifted = { ...actionOf({ action: "move", shift: "1h" }, line({})), id: "first" };
    const after = { from: "2031-01-01T01:00:00.000Z", to: "2031-01-02T01:00:00.000Z" };
    const back = actionOf({ action: "move", shift: "-1h" }, line(after));
    expect(isShiftedBack(shifted, [back, shifted])).toBe(true);
    expect(isShiftedBack(back, [back, shifted])).toBe(false);
    expect(isShiftedBack(shifted, [shifted, back])).toBe(false);
    const others = actionOf({ action: "move", shift: "-1h" }, line({ ...after, tag: "a" }));
    expect(isShiftedBack(shifted, [others, shifted])).toBe(false);
  });

  test.each<Change>([{ action: "cancel" }, { action: "run" }, { action: "move", dueAt: AT }])(
    "is nothing for %j",
    (change) => {
      expect(shiftBackOf(actionOf(change, line({})))).toBeUndefined();
    },
  );
});
