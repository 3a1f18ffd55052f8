import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { schedulerExpression } from "../../src/cron/crontab.ts";
import { parseExpression } from "../../src/cron/expression.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

describe("crontab(5)'s expression becomes EventBridge Scheduler's:", () => {
  test.each([
    ["0 9 * * *", "cron(0 9 * * ? *)"],
    ["0 9 * * 1-5", "cron(0 9 ? * MON-FRI *)"],
    ["0 9 * * 0", "cron(0 9 ? * SUN *)"],
    ["0 9 * * 7", "cron(0 9 ? * SUN *)"],
    ["0 9 * * 5-7", "cron(0 9 ? * SUN,FRI-SAT *)"],
    ["0 9 * * sat-sun", "cron(0 9 ? * SUN,SAT *)"],
    ["0-58/1 9 * * *", "cron(0-58 9 * * ? *)"],
    ["0 9 * * 0-7", "cron(0 9 ? * SUN-SAT *)"],
    ["0 9 * * */2", "cron(0 9 ? * SUN,TUE,THU,SAT *)"],
    ["0 9 1,15 * *", "cron(0 9 1,15 * ? *)"],
    ["*/15 8-18/5 * jan-mar *", "cron(0/15 8,13,18 * 1-3 ? *)"],
    ["7/20 0 */10 */3 *", "cron(7/20 0 1/10 1/3 ? *)"],
    ["  0   9 * * Mon,wed ", "cron(0 9 ? * MON,WED *)"],
    ["@hourly", "cron(0 * * * ? *)"],
    ["@daily", "cron(0 0 * * ? *)"],
    ["@weekly", "cron(0 0 ? * SUN *)"],
    ["@monthly", "cron(0 0 1 * ? *)"],
    ["@yearly", "cron(0 0 1 1 ? *)"],
  ])("%s is %s", (text, expected) => {
    expect(schedulerExpression(text)).toBe(expected);
    expect(parseExpression(expected).next(START)).toBe(
      new Cron(text, { timezone: "UTC", sloppyRanges: true }).nextRun(new Date(START))?.getTime(),
    );
  });

  test.each(["cron(0 9 * * ? *)", "rate(5 minutes)", "at(2027-01-01T00:00:00)", "nonsense"])(
    "%s stays as it is",
    (text) => expect(schedulerExpression(text)).toBe(text),
  );

  test("and occurs whenever cron's own expression does", () => {
    const field = (lowest: number, highest: number) =>
      fc.array(partOf(lowest, highest), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(","));
    const days = fc.oneof(
      field(1, 31).map((day) => `${day} M *`),
      field(0, 7).map((day) => `* M ${day}`),
      fc.constant("* M *"),
    );
    fc.assert(
      fc.property(field(0, 59), field(0, 23), field(1, 12), days, (minutes, hours, month, rest) => {
        const text = `${minutes} ${hours} ${rest.replace("M", month)}`;
        const [ours, theirs] = [
          parseExpression(schedulerExpression(text)),
          new Cron(text, { timezone: "UTC" }),
        ];
        let at = START;
        for (let i = 0; i < 5; i++) {
          const expected = theirs.nextRun(new Date(at))?.getTime();
          // croner gives up a day such as the 30th of February later than EventBridge's last year.
          if (expected === undefined) return;
          expect(ours.next(at), text).toBe(expected);
          at = expected;
        }
      }),
      { numRuns: 300, seed: 44 },
    );
  });
});

const partOf = (lowest: number, highest: number) =>
  fc
    .record({
      from: fc.integer({ min: lowest, max: highest }),
      to: fc.integer({ min: lowest, max: highest }),
      step: fc.integer({ min: 1, max: 9 }),
      form: fc.constantFrom("value", "range", "range step", "all step"),
    })
    .map(({ from, to, step, form }) => {
      const range = `${Math.min(from, to)}-${Math.max(from, to)}`;
      const least = Math.min(step, highest - lowest);
      if (form === "value") return `${from}`;
      if (form === "range") return range;
      return form === "range step" ? `${range}/${least}` : `*/${least}`;
    });

describe("is refused:", () => {
  test.each([
    [
      "0 9 13 * 5",
      "* for one of day-of-month and day-of-week, because EventBridge Scheduler takes only one of them: for either day make two schedules, for both days let the handler check the weekday",
    ],
    ["0 9 * * ?", "0 to 7 or SUN to SAT, ranges, steps or lists of them in day-of-week"],
    ["0 24 * * *", "0 to 23, ranges"],
    ["0 9 0 * *", "1 to 31"],
    ["0 9 * FOO *", "1 to 12 or JAN to DEC"],
    ["0 9 * * 8", "0 to 7"],
    ["0 18-9 * * *", 'ranges that ascend, got "18-9" in hours'],
    ["*/0 * * * *", "a step of 1 to 60 in minutes"],
    [
      "0 0 9 * * *",
      "the five fields minutes hours day-of-month month day-of-week, or EventBridge's six in cron(…)",
    ],
    ["@reboot", "one of the names @hourly, @daily"],
  ])("%s", (text, rule) => {
    expect(() => schedulerExpression(text)).toThrow(rule);
    expect(() => schedulerExpression(text)).toThrow(RangeError);
  });
});
