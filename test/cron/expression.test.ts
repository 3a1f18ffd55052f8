import { describe, expect, it, vi } from "vitest";
import { parseExpression, type RecurrenceOptions } from "../../src/cron/expression.ts";

const instant = (text: string): number => Date.parse(text.length === 16 ? `${text}:00Z` : text);

/** The first occurrences after an instant, as UTC to the minute. */
function occurrences(expression: string, after: string, options: RecurrenceOptions = {}, most = 3): string[] {
  const recurrence = parseExpression(expression, options);
  const found: string[] = [];
  let next = recurrence.next(instant(after));
  while (next !== undefined && found.length < most) {
    found.push(new Date(next).toISOString().slice(0, 16));
    next = recurrence.next(next);
  }
  return found;
}

// 2026-01-01 is a Thursday, 2026-02-01 and 2026-03-01 are Sundays.
const NEW_YEAR = "2025-12-31T23:59";

describe("cron(…)", () => {
  it.each([
    ["every minute", "* * * * ? *", ["2026-01-01T00:00", "2026-01-01T00:01", "2026-01-01T00:02"]],
    ["a time of each day", "30 9 * * ? *", ["2026-01-01T09:30", "2026-01-02T09:30", "2026-01-03T09:30"]],
    ["steps from a value", "1/25 0 * * ? *", ["2026-01-01T00:01", "2026-01-01T00:26", "2026-01-01T00:51"]],
    ["steps from the lowest", "*/40 0 * * ? *", ["2026-01-01T00:00", "2026-01-01T00:40", "2026-01-02T00:00"]],
    ["steps in a range", "0 8-12/3 * * ? *", ["2026-01-01T08:00", "2026-01-01T11:00", "2026-01-02T08:00"]],
    ["lists", "0,5 7 1,3 * ? *", ["2026-01-01T07:00", "2026-01-01T07:05", "2026-01-03T07:00"]],
    ["weekdays by name", "0 9 ? * MON-FRI *", ["2026-01-01T09:00", "2026-01-02T09:00", "2026-01-05T09:00"]],
    [
      "days by number: 1 is Sunday",
      "0 9 ? * 1 *",
      ["2026-01-04T09:00", "2026-01-11T09:00", "2026-01-18T09:00"],
    ],
    [
      "days by number: 7 is Saturday",
      "0 9 ? * 7 *",
      ["2026-01-03T09:00", "2026-01-10T09:00", "2026-01-17T09:00"],
    ],
    ["the last day of the week", "0 9 ? * L *", ["2026-01-03T09:00", "2026-01-10T09:00", "2026-01-17T09:00"]],
    ["months by name", "0 9 1 FEB,OCT-NOV ? *", ["2026-02-01T09:00", "2026-10-01T09:00", "2026-11-01T09:00"]],
    [
      "the last day of the month",
      "0 9 L * ? *",
      ["2026-01-31T09:00", "2026-02-28T09:00", "2026-03-31T09:00"],
    ],
    ["its last weekday", "0 9 LW * ? *", ["2026-01-30T09:00", "2026-02-27T09:00", "2026-03-31T09:00"]],
    // The 1st of February is a Sunday, the 1st of August a Saturday: the nearest weekday stays in the month.
    ["the nearest weekday", "0 9 1W 1,2,8 ? *", ["2026-01-01T09:00", "2026-02-02T09:00", "2026-08-03T09:00"]],
    [
      "the nearest weekday before",
      "0 9 15W 8 ? *",
      ["2026-08-14T09:00", "2027-08-16T09:00", "2028-08-15T09:00"],
    ],
    ["the third Friday", "0 9 ? * FRI#3 *", ["2026-01-16T09:00", "2026-02-20T09:00", "2026-03-20T09:00"]],
    [
      "the fifth Thursday, where there is one",
      "0 9 ? * 5#5 *",
      ["2026-01-29T09:00", "2026-04-30T09:00", "2026-07-30T09:00"],
    ],
    ["the last Friday", "0 9 ? * 6L *", ["2026-01-30T09:00", "2026-02-27T09:00", "2026-03-27T09:00"]],
    [
      "the last Friday by name",
      "0 9 ? * FRIL *",
      ["2026-01-30T09:00", "2026-02-27T09:00", "2026-03-27T09:00"],
    ],
    [
      "the 31st, where there is one",
      "0 9 31 * ? *",
      ["2026-01-31T09:00", "2026-03-31T09:00", "2026-05-31T09:00"],
    ],
    ["leap days", "0 9 29 2 ? *", ["2028-02-29T09:00", "2032-02-29T09:00", "2036-02-29T09:00"]],
    ["leap days over a year that is none", "0 9 29 2 ? 2096-2105", ["2096-02-29T09:00", "2104-02-29T09:00"]],
    ["years in steps", "0 0 1 1 ? 2026/2", ["2026-01-01T00:00", "2028-01-01T00:00", "2030-01-01T00:00"]],
    ["years to the last", "0 0 31 12 ? 2198-2199", ["2198-12-31T00:00", "2199-12-31T00:00"]],
    ["no year after 2199", "0 0 1 1 ? 2199", ["2199-01-01T00:00"]],
    [
      "years in steps from 1970",
      "0 0 1 1 ? */4",
      ["2026-01-01T00:00", "2030-01-01T00:00", "2034-01-01T00:00"],
    ],
    [
      "years in steps, in a list",
      "0 0 1 1 ? */60,2027",
      ["2027-01-01T00:00", "2030-01-01T00:00", "2090-01-01T00:00"],
    ],
    ["a day that never comes", "0 0 30 2 ? *", []],
    ["years that are over", "0 0 1 1 ? 2020", []],
  ])("%s: cron(%s)", (_, fields, expected) => {
    expect(occurrences(`cron(${fields})`, NEW_YEAR)).toEqual(expected);
  });

  it("the years end with 2199, whatever the expression says", () => {
    expect(occurrences("cron(0 0 1 1 ? *)", "2198-06-01T00:00")).toEqual(["2199-01-01T00:00"]);
  });

  it("the years end with 2199 on the clock of the time zone, by cron and by at", () => {
    const newYork = { timezone: "America/New_York" };
    const last = ["2200-01-01T04:59"];
    expect(occurrences("cron(59 23 31 12 ? *)", "2199-06-01T00:00", newYork)).toEqual(last);
    expect(occurrences("at(2199-12-31T23:59:00)", "2199-06-01T00:00", newYork)).toEqual(last);
    const tokyo = { timezone: "Asia/Tokyo" };
    expect(occurrences("cron(59 23 31 12 ? *)", "2199-06-01T00:00", tokyo)).toEqual(["2199-12-31T14:59"]);
    expect(occurrences("cron(0 0 1 1 ? *)", "2199-06-01T00:00", tokyo)).toEqual([]);
  });

  it("counts strictly after an instant, to the millisecond", () => {
    const recurrence = parseExpression("cron(30 9 * * ? *)");
    const due = instant("2026-01-01T09:30");
    expect(recurrence.next(due - 1)).toBe(due);
    expect(recurrence.next(due)).toBe(due + 86_400_000);
    expect(recurrence.next(due + 1)).toBe(due + 86_400_000);
  });
});

describe("time zones", () => {
  // Berlin: 2026-03-29 02:00 becomes 03:00 at 01:00Z, 2026-10-25 03:00 becomes 02:00 at 01:00Z.
  const berlin = { timezone: "Europe/Berlin" };

  it("a time of day follows the clocks", () => {
    expect(occurrences("cron(0 9 * * ? *)", "2026-03-27T12:00", berlin)).toEqual([
      "2026-03-28T08:00",
      "2026-03-29T07:00",
      "2026-03-30T07:00",
    ]);
  });

  it("a time that the clocks are put forward over is left out", () => {
    expect(occurrences("cron(30 2 * * ? *)", "2026-03-27T12:00", berlin)).toEqual([
      "2026-03-28T01:30",
      "2026-03-30T00:30",
      "2026-03-31T00:30",
    ]);
  });

  it("after a time that is left out comes the first that the clocks show again", () => {
    expect(occurrences("cron(0/20 1-3 * * ? *)", "2026-03-29T00:35", berlin)).toEqual([
      "2026-03-29T00:40",
      "2026-03-29T01:00",
      "2026-03-29T01:20",
    ]);
  });

  it("an expression that is always left out is looked for from gap to gap, not minute by minute", () => {
    const asked = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
    const everyMinute = parseExpression("cron(* 2 ? 3 1#2 *)", { timezone: "America/New_York" });
    expect(everyMinute.next(instant("2026-01-01T00:00"))).toBeUndefined();
    const years = 2200 - 2026;
    expect(asked.mock.calls.length).toBeLessThan(years * 40);
    asked.mockRestore();
  });

  it.each(["30 2 * * ? *", "30/40 2 * * ? *"])("a time that comes twice counts once: cron(%s)", (fields) => {
    expect(occurrences(`cron(${fields})`, "2026-10-24T12:00", berlin)).toEqual([
      "2026-10-25T00:30",
      "2026-10-26T01:30",
      "2026-10-27T01:30",
    ]);
  });

  it("after the first of two equal hours comes what follows the second", () => {
    expect(occurrences("cron(0/20 * * * ? *)", "2026-10-25T00:20", berlin)).toEqual([
      "2026-10-25T00:40",
      "2026-10-25T02:00",
      "2026-10-25T02:20",
    ]);
    expect(occurrences("cron(0/20 * * * ? *)", "2026-10-25T01:10", berlin, 1)).toEqual(["2026-10-25T02:00"]);
  });

  it("half an hour's change is known too", () => {
    // Lord Howe: 2026-10-04 02:00 (+10:30) becomes 02:30 (+11).
    const options = { timezone: "Australia/Lord_Howe" };
    expect(occurrences("cron(15 2 * * ? *)", "2026-10-02T12:00", options)).toEqual([
      "2026-10-02T15:45",
      "2026-10-04T15:15",
      "2026-10-05T15:15",
    ]);
  });

  it("a date that a country skipped is left out", () => {
    // Samoa went from 2011-12-29 (-10) straight to 2011-12-31 (+14).
    expect(occurrences("cron(0 12 * * ? *)", "2011-12-29T00:00", { timezone: "Pacific/Apia" })).toEqual([
      "2011-12-29T22:00",
      "2011-12-30T22:00",
      "2011-12-31T22:00",
    ]);
    expect(occurrences("cron(0 12 30 12 ? 2011)", NEW_YEAR, { timezone: "Pacific/Apia" })).toEqual([]);
  });

  it.each(["Mars/Olympus", "+01:00", "", "Europe", "Europe/Berlin "])("%j is not a time zone", (timezone) => {
    expect(() => parseExpression("rate(1 day)", { timezone })).toThrow(
      `timezone must be an IANA name such as Europe/Berlin or UTC, got ${JSON.stringify(timezone)}`,
    );
  });
});

describe("rate(…)", () => {
  const anchor = instant("2026-03-28T10:07");

  it.each([
    ["rate(1 minute)", ["2026-03-28T10:07", "2026-03-28T10:08", "2026-03-28T10:09"]],
    ["rate(90 minutes)", ["2026-03-28T10:07", "2026-03-28T11:37", "2026-03-28T13:07"]],
    ["rate(1 hour)", ["2026-03-28T10:07", "2026-03-28T11:07", "2026-03-28T12:07"]],
    ["rate(12 hours)", ["2026-03-28T10:07", "2026-03-28T22:07", "2026-03-29T10:07"]],
    ["rate(2 days)", ["2026-03-28T10:07", "2026-03-30T10:07", "2026-04-01T10:07"]],
  ])("%s counts from the anchor, which is the first", (expression, expected) => {
    expect(occurrences(expression, "2026-01-01T00:00", { anchor })).toEqual(expected);
  });

  it("days are 24 hours though the clocks change", () => {
    expect(occurrences("rate(1 day)", "2026-03-28T12:00", { anchor, timezone: "Europe/Berlin" })).toEqual([
      "2026-03-29T10:07",
      "2026-03-30T10:07",
      "2026-03-31T10:07",
    ]);
  });

  it("the start is the anchor if no anchor is given", () => {
    expect(occurrences("rate(1 day)", "2026-03-27T00:00", { start: anchor }, 1)).toEqual([
      "2026-03-28T10:07",
    ]);
  });
});

describe("at(…)", () => {
  it("comes once, on the clock of its time zone", () => {
    expect(occurrences("at(2026-07-01T09:00:00)", NEW_YEAR)).toEqual(["2026-07-01T09:00"]);
    expect(occurrences("at(2026-07-01T09:00:00)", NEW_YEAR, { timezone: "America/New_York" })).toEqual([
      "2026-07-01T13:00",
    ]);
    expect(occurrences("at(2026-07-01T09:00:00)", "2026-07-01T09:00")).toEqual([]);
  });

  it("knows neither start nor end", () => {
    const options = { start: instant("2027-01-01T00:00"), end: instant("2026-01-01T00:00") };
    expect(occurrences("at(2026-07-01T09:00:00)", NEW_YEAR, options)).toEqual(["2026-07-01T09:00"]);
  });

  it("never comes where the clocks are put forward over it", () => {
    expect(occurrences("at(2026-03-29T02:30:00)", NEW_YEAR, { timezone: "Europe/Berlin" })).toEqual([]);
  });
});

describe("start and end", () => {
  it("are both inside", () => {
    const options = { start: instant("2026-01-02T09:00"), end: instant("2026-01-03T09:00") };
    expect(occurrences("cron(0 9 * * ? *)", NEW_YEAR, options)).toEqual([
      "2026-01-02T09:00",
      "2026-01-03T09:00",
    ]);
    expect(occurrences("rate(24 hours)", NEW_YEAR, options)).toEqual([
      "2026-01-02T09:00",
      "2026-01-03T09:00",
    ]);
  });

  it("cut what lies a millisecond outside", () => {
    const options = { start: instant("2026-01-02T09:00") + 1, end: instant("2026-01-04T09:00") - 1 };
    expect(occurrences("cron(0 9 * * ? *)", NEW_YEAR, options)).toEqual(["2026-01-03T09:00"]);
  });
});

describe("what is no expression", () => {
  it.each([
    ["", "cron(…), rate(…) or at(yyyy-mm-ddThh:mm:ss), or the five fields of a crontab"],
    ["0 9 * * ? *", "cron(…), rate(…) or at(yyyy-mm-ddThh:mm:ss), or the five fields of a crontab"],
    ["CRON(0 9 * * ? *)", "cron(…), rate(…) or at(yyyy-mm-ddThh:mm:ss), or the five fields of a crontab"],
    [" rate(1 day)", "cron(…), rate(…) or at(yyyy-mm-ddThh:mm:ss), or the five fields of a crontab"],
    ["cron(0 9 * * ?)", "six fields"],
    ["cron(0 0 9 * * ? *)", "six fields"],
    ["cron()", "six fields"],
    ["cron(0 9 * * * *)", "? for exactly one of day-of-month and day-of-week"],
    ["cron(0 9 ? * ? *)", "? for exactly one of day-of-month and day-of-week"],
    ["cron(0 9 1 * MON *)", "? for exactly one of day-of-month and day-of-week"],
    ["cron(60 9 * * ? *)", '0 to 59, ranges, steps or lists of them in minutes, got "60"'],
    ["cron(? 9 * * ? *)", '0 to 59, ranges, steps or lists of them in minutes, got "?"'],
    ["cron(-5 9 * * ? *)", 'in minutes, got ""'],
    ["cron(1- 9 * * ? *)", 'in minutes, got ""'],
    ["cron(1-2-3 9 * * ? *)", 'in minutes, got "1-2-3"'],
    ["cron(1, 9 * * ? *)", 'in minutes, got ""'],
    ["cron(*-5 9 * * ? *)", 'in minutes, got "*"'],
    ["cron(1.5 9 * * ? *)", 'in minutes, got "1.5"'],
    ["cron(0 24 * * ? *)", "0 to 23"],
    ["cron(0 9 0 * ? *)", "1 to 31"],
    ["cron(0 9 32W * ? *)", "1 to 31"],
    ["cron(0 9 1-5W * ? *)", "1 to 31"],
    ["cron(0 9 1,L * ? *)", "1 to 31"],
    ["cron(0 9 * 13 ? *)", "1 to 12 or JAN to DEC"],
    ["cron(0 9 * JANFEB ? *)", "1 to 12 or JAN to DEC"],
    ["cron(0 9 * MON ? *)", "1 to 12 or JAN to DEC"],
    ["cron(0 9 ? * 0 *)", "1 to 7 or SUN to SAT"],
    ["cron(0 9 ? * 8 *)", "1 to 7 or SUN to SAT"],
    ["cron(0 9 ? * mon *)", "1 to 7 or SUN to SAT"],
    ["cron(0 9 ? * MON#6 *)", "1 to 7 or SUN to SAT"],
    ["cron(0 9 ? * 3#1,6#3 *)", "1 to 7 or SUN to SAT"],
    ["cron(0 9 ? * 2/2 *)", "no step in day-of-week"],
    ["cron(0 9 * * ? 1969)", "1970 to 2199"],
    ["cron(0 9 * * ? 2200)", "1970 to 2199"],
    ["cron(0 22-2 * * ? *)", 'ranges that ascend, got "22-2" in hours'],
    ["cron(0 9 ? * SAT-MON *)", 'ranges that ascend, got "SAT-MON" in day-of-week'],
    ["cron(0/0 9 * * ? *)", 'a step of 1 to 60 in minutes, got "/0"'],
    ["cron(0/61 9 * * ? *)", "a step of 1 to 60"],
    ["cron(0/5/5 9 * * ? *)", "ranges, steps or lists"],
    ["cron(/5 9 * * ? *)", "ranges, steps or lists"],
    ["rate(0 minutes)", "a whole number of 1 to 999999999"],
    ["rate(-1 minutes)", "a whole number of 1 to 999999999"],
    ["rate(1.5 hours)", "a whole number of 1 to 999999999"],
    ["rate(5 seconds)", "minutes, hours or days"],
    ["rate(1 week)", "minutes, hours or days"],
    ["rate(5minutes)", "minutes, hours or days"],
    ["at(2026-02-30T09:00:00)", "a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss)"],
    ["at(2200-01-01T00:00:00)", "a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss)"],
    ["at(2026-02-28T24:00:00)", "a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss)"],
    ["at(2026-02-28T09:00)", "a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss)"],
    [
      "at(2026-02-28T09:00:00Z)",
      "a date and time, up to 2199, in at(yyyy-mm-ddThh:mm:ss) without an offset: the schedule's timezone counts",
    ],
  ])("%j: must have %s", (expression, rule) => {
    expect(() => parseExpression(expression)).toThrow(RangeError);
    expect(() => parseExpression(expression)).toThrow(/^expression must .*, got /);
    expect(() => parseExpression(expression)).toThrow(rule);
  });
});
