import { expect, test } from "vitest";
import { createLocalHistory } from "../../console/local-history.ts";
import { formatLogLine } from "../../local/log-lines.ts";

const HOUR = 3_600_000;
const NOW = Date.parse("2026-03-12T12:30:20Z");

/** A history of a stack that began a day ago. */
function history(now = NOW) {
  let at = now - 24 * HOUR;
  const { add, read } = createLocalHistory(() => at);
  add({ text: "the stack starts", at });
  at = now;
  return {
    read,
    /** `ago`: ms before now. */
    log(ago: number, type: string, fields: object = {}) {
      const timestamp = new Date(now - ago).toISOString();
      const record = {
        level: "DEBUG",
        message: `job ${type}`,
        timestamp,
        type,
        topic: "work",
        id: "1",
        ...fields,
      };
      const line = formatLogLine("Work", JSON.stringify(record), now);
      if (line) add(line);
    },
  };
}

const started = (lateMs: number, more: object = {}) => ({ attempt: 1, lateMs, heldMs: 0, ...more });
const minuteAt = (text: string) => Date.parse(`2026-03-12T${text}Z`);

test("runs are counted by topic and minute", () => {
  const { log, read } = history();
  log(90_000, "started", started(40));
  log(80_000, "started", started(3000));
  log(80_000, "failed", { attempt: 1, error: "no" });
  log(80_000, "failed", { attempt: 1, error: "throttled: no", isThrottled: true });
  log(10_000, "started", started(700, { topic: "mail" }));
  log(5000, "dead", { attempt: 3, error: "no" });
  const { from, to, topics } = read({ hours: 3 });
  expect({ from, to }).toEqual({ from: NOW - 3 * HOUR, to: NOW });
  const mail = { started: 1, failed: 0, dead: 0, steps: [0, 0, 0, 1, 0, 0, 0, 0, 0, 0] };
  expect(topics).toMatchObject([
    {
      topic: "work",
      minutes: [
        { at: minuteAt("12:28:00"), started: 1, failed: 0, dead: 0 },
        { at: minuteAt("12:29:00"), started: 1, failed: 1, dead: 0 },
        { at: minuteAt("12:30:00"), started: 0, failed: 0, dead: 1 },
      ],
    },
    { topic: "mail", minutes: [{ at: minuteAt("12:30:00"), ...mail }] },
  ]);
  expect(topics[0]?.minutes[2]).not.toHaveProperty("late");
  expect(read({ hours: 3, topic: "mail" }).topics.map(({ topic }) => topic)).toEqual(["mail"]);
});

test("lateness is that of first attempts, without the time in which the job was held", () => {
  const { log, read } = history();
  log(0, "started", started(60_100, { heldMs: 60_000 }));
  log(0, "started", started(900_000, { attempt: 2 }));
  expect(read({ hours: 1 }).topics[0]?.minutes).toMatchObject([
    { started: 1, late: { p50: 102, p99: 102 }, steps: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0] },
  ]);
});

test.each([0, 1, 7, 100, 999, 12_345, 4 * HOUR])(
  "a lateness of %i ms is told to within 3 percent",
  (late) => {
    const { log, read } = history();
    log(0, "started", started(late));
    const told = read({ hours: 1 }).topics[0]?.minutes[0]?.late;
    expect(Math.abs((told?.p50 ?? Number.NaN) - late)).toBeLessThanOrEqual(Math.max(late * 0.03, 0.5));
    expect(told?.p99).toBe(told?.p50);
  },
);

test("the percentiles are those of all runs of the minute", () => {
  const { log, read } = history();
  for (let late = 1; late <= 1000; late++) log(0, "started", started(late));
  const { p50 = 0, p99 = 0 } = read({ hours: 1 }).topics[0]?.minutes[0]?.late ?? {};
  expect(Math.abs(p50 - 500)).toBeLessThan(16);
  expect(Math.abs(p99 - 990)).toBeLessThan(31);
});

test("the steps end where they say", () => {
  const { log, read } = history();
  for (const late of [0, 100, 101, 250, 300_000, 300_001]) log(0, "started", started(late));
  expect(read({ hours: 1 }).topics[0]?.minutes[0]?.steps).toEqual([2, 2, 0, 0, 0, 0, 0, 0, 1, 1]);
});

test("the history begins when the stack began, and knows nothing of before", () => {
  const { add, read } = createLocalHistory(() => NOW);
  add({ text: "the stack starts", at: NOW });
  expect(read({ hours: 3 })).toEqual({ from: NOW, to: NOW, topics: [] });
});

test("six hours are kept", () => {
  const { log, read } = history();
  log(7 * HOUR, "started", started(1));
  log(2 * HOUR, "started", started(1));
  log(0, "started", started(1));
  expect(read({ hours: 24 }).topics[0]?.minutes.map(({ at }) => at)).toEqual([
    minuteAt("10:30:00"),
    minuteAt("12:30:00"),
  ]);
});

test("lines that tell no job event do not count, whatever they say", () => {
  const { log, read } = history();
  log(0, "started", { ...started(1), message: "job begun" });
  log(0, "started", { ...started(1), topic: 17 });
  log(0, "done", { attempt: 1 });
  expect(read({ hours: 1 }).topics).toEqual([]);
});
