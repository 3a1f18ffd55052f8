import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { formatLogLine } from "../../local/log-lines.ts";

const NOW = new Date(2026, 2, 12, 12, 0, 5, 4).getTime();
const line = (record: object) => formatLogLine("reminders", JSON.stringify(record), NOW)?.text;
const event = (type: string, fields: object) =>
  line({
    level: "DEBUG",
    message: `job ${type}`,
    service: "minutehand",
    type,
    topic: "work",
    id: "01K",
    ...fields,
  });

test.each([
  ["enqueued", { dueAt: NOW + 5000 }, "enqueued, due 12:00:10.004"],
  ["enqueued", { dueAt: NOW + 9 * 86_400_000 }, "enqueued, due 2026-03-21 12:00:05.004"],
  ["moved", { dueAt: NOW, why: "failed" }, "retries at 12:00:05.004 (failed)"],
  ["moved", { dueAt: NOW, why: "rescheduled" }, "moved to 12:00:05.004 (rescheduled)"],
  ["cancelled", {}, "cancelled"],
  ["started", { attempt: 1, lateMs: 4, dueAt: NOW }, "started attempt 1, 4 ms late"],
  ["started", { attempt: 1, lateMs: 3_574_004, dueAt: NOW }, "started attempt 1, 59m 34s late"],
  ["started", { attempt: 1, lateMs: 4, heldMs: 0, dueAt: NOW }, "started attempt 1, 4 ms late"],
  [
    "started",
    { attempt: 1, lateMs: 9004, heldMs: 9000, dueAt: NOW },
    "started attempt 1, 9004 ms late, of that 9000 ms held by a pause, a limit or a window",
  ],
  ["done", { attempt: 2 }, "done in attempt 2"],
  ["failed", { attempt: 1, error: "no" }, "failed attempt 1: no"],
  [
    "failed",
    { attempt: 1, error: "throttled: no", isThrottled: true },
    "could not begin attempt 1: throttled: no",
  ],
  ["dead", { attempt: 9, error: "no" }, "dead after attempt 9: no"],
  ["dropped", { reason: "moved" }, "dropped a message: moved"],
  ["dropped", { reason: "paused" }, "held: the topic is paused"],
  ["invented", { colour: "red" }, "invented colour=red"],
])("a job that was %s", (type, fields, said) => {
  expect(event(type, fields)).toBe(`12:00:05.004  work  01K  ${said}`);
});

test("events of no single job", () => {
  const handedOver = {
    type: "handed-over",
    message: "job handed-over",
    topic: "work",
    jobs: 11,
    messages: 2,
  };
  expect(line(handedOver)).toBe("12:00:05.004  work  handed over 11 jobs in 2 messages");
  const ofTopic = (type: string, fields: object = {}) =>
    line({ type, message: `job ${type}`, topic: "work", ...fields });
  expect(ofTopic("paused")).toBe("12:00:05.004  work  paused");
  expect(ofTopic("resumed")).toBe("12:00:05.004  work  resumed");
  expect(ofTopic("parked", { jobs: 1 })).toBe(
    "12:00:05.004  work  held 1 job: the topic is paused or at its limit",
  );
  expect(ofTopic("released", { jobs: 2 })).toBe("12:00:05.004  work  released 2 jobs");
  expect(ofTopic("deferred", { jobs: 2 })).toBe(
    "12:00:05.004  work  deferred 2 jobs to the next opening of the topic's window",
  );
  expect(line({ type: "swept", message: "job swept", shard: 1, entries: 1, lagMs: 2 })).toBe(
    "12:00:05.004  swept 1 entry",
  );
});

test("an applied event shows what each rule did", () => {
  const rules = [
    { topic: "work", rule: "cancelOn", did: "no-job" },
    { topic: "mails", rule: "enqueueOn", did: "failed", error: "no key" },
  ];
  expect(line({ type: "event-applied", message: "job event-applied", event: "e-1", rules })).toBe(
    "12:00:05.004  applied event e-1: work cancelOn no-job, mails enqueueOn failed",
  );
});

test("metrics, debug records and empty sweeps are not shown", () => {
  expect(line({ type: "swept", message: "job swept", shard: 1, entries: 0, lagMs: 2 })).toBeUndefined();
  expect(line({ level: "DEBUG", message: "thinking" })).toBeUndefined();
  expect(line({ _aws: {}, lateness: 3 })).toBeUndefined();
  expect(formatLogLine("reminders", " ", NOW)).toBeUndefined();
});

test("warnings and errors name their function", () => {
  const error = { name: "Error", message: "broken", stack: "at …" };
  expect(line({ level: "ERROR", message: "could not", error })).toBe(
    "12:00:05.004  reminders  ERROR  could not error=broken\n              broken",
  );
});

const FRAMES = [
  "    at charge (/app/asset.1/src/pay.ts:7:11)",
  "    at send (/app/asset.1/node_modules/axios/index.js:1:2)",
  "    at Object.handler (file:///app/asset.1/close%20order.ts:5:3)",
  "    at run (/app/asset.1/node_modules/minutehand/consumer/run-handler.js:50:13)",
  "    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
];
const thrown = (message: string, frames: string[], cause?: object) => ({
  message,
  stack: [`Error: ${message}`, ...frames].join("\n"),
  cause,
});

test("an error that was thrown is shown with the user's own frames and its causes, and with files as the editor knows them", () => {
  const cause = thrown("no money\nat all", FRAMES.slice(0, 2));
  const record = { type: "threw", message: "job threw", topic: "work", id: "01K", attempt: 1 };
  const text = JSON.stringify({ ...record, error: thrown("declined", FRAMES, cause) });
  expect(formatLogLine("reminders", text, NOW, "/app/asset.1")?.text.split("\n")).toEqual([
    "12:00:05.004  work  01K  threw in attempt 1",
    "              Error: declined",
    "                  at charge (src/pay.ts:7:11)",
    "                  at Object.handler (close order.ts:5:3)",
    "                  … 3 frames of packages and Node.js",
    "              caused by Error: no money",
    "              at all",
    "                  at charge (src/pay.ts:7:11)",
    "                  … 1 frame of packages and Node.js",
  ]);
});

test("an error without a frame of the user's own code is shown with all frames", () => {
  const text = JSON.stringify({ level: "ERROR", message: "no", error: thrown("no", FRAMES.slice(3)) });
  expect(formatLogLine("reminders", text, NOW, "/app/asset.1")?.text.split("\n")).toEqual([
    "12:00:05.004  reminders  ERROR  no",
    "              Error: no",
    "                  at run (node_modules/minutehand/consumer/run-handler.js:50:13)",
    "                  at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
  ]);
});

const TRACEBACK = [
  "Traceback (most recent call last):",
  '  File "/app/asset.1/receipt.py", line 4, in handler',
  '    return amount_of(event["cents"])',
  "           ~~~~~^^^^^^^^^",
];

test.each([
  ["KeyError: 'cents'", "'cents'", "KeyError: 'cents'", []],
  ["could not start: 'cents'", "'cents'", "KeyError: 'cents'", ["KeyError: 'cents'"]],
  ["AssertionError", "", "AssertionError", []],
  ["ValueError: a\nb", "a\nb", "ValueError: a\nb", ["ValueError: a", "b"]],
])(
  "an error of a Python function that says %j is shown with its type and its frames",
  (said, message, end, head) => {
    const thrown = { message, stack: `${[...TRACEBACK, end].join("\n")}\n` };
    const text = JSON.stringify({ level: "ERROR", message: said, thrown });
    expect(formatLogLine("receipts", text, NOW, "/app/asset.1")?.text.split("\n")).toEqual([
      `12:00:05.004  receipts  ERROR  ${said.replace("\n", "\\u000a")}`,
      ...head.map((one) => `              ${one}`),
      "              Traceback (most recent call last):",
      '                File "receipt.py", line 4, in handler',
      '                  return amount_of(event["cents"])',
      "                         ~~~~~^^^^^^^^^",
    ]);
  },
);

test("a stack that a handler prints itself names its files in the same way", () => {
  expect(formatLogLine("reminders", FRAMES[0] ?? "", NOW, "/app/asset.1")?.text).toBe(
    "12:00:05.004  reminders      at charge (src/pay.ts:7:11)",
  );
});

test.each([
  ["the beginnings of files", "cat /etc/motd; ".repeat(20_000)],
  [
    "such beginnings in front of a parenthesis, with a place at the end",
    `${"at /etc/motd; ".repeat(20_000)}(:1:2`,
  ],
])("a line of hundreds of kilobytes with %s is shown at once", (_, text) => {
  // Vitest's own limit cannot end a regular expression that runs on, for minutes or longer. One that does not takes milliseconds.
  const format = () => formatLogLine("reminders", text, NOW, "/app/asset.1")?.text;
  expect(runInNewContext("format()", { format }, { timeout: 60_000 })).toBe(
    `12:00:05.004  reminders  ${text.slice(0, 500)} …`,
  );
});

test("an error cannot make a line that looks like another line of the log", () => {
  const error = thrown("a\n12:00:05.004  work  01K  done in attempt 1\u001b[31m", []);
  const lines = line({ level: "ERROR", message: "could not", error })?.split("\n") ?? [];
  expect(lines.filter((one) => /^\d/.test(one))).toHaveLength(1);
  expect(lines.join("")).not.toContain("\u001b");
});

test("the record's own time is shown, if it has one", () => {
  const timestamp = new Date(NOW - 4).toISOString();
  expect(line({ level: "INFO", message: "hi", timestamp })).toBe("12:00:05.000  reminders  hi");
});

test("a line that is not a record is shown unchanged", () => {
  expect(formatLogLine("reminders", "{oops", NOW)?.text).toBe("12:00:05.004  reminders  {oops");
});

test("texts of handlers and receivers cannot control the terminal", () => {
  const error = "a\u001b[31mb\u202e\u009bc";
  const shown = "a\\u001b[31mb\\u202e\\u009bc";
  expect(event("failed", { attempt: 1, error })).toBe(`12:00:05.004  work  01K  failed attempt 1: ${shown}`);
  expect(formatLogLine("reminders", `\t${error}`, NOW)?.text).toBe(`12:00:05.004  reminders  \t${shown}`);
});

test("a line says which event it is about, and has the whole traces of its errors", () => {
  const stack =
    "Error: no\n    at own (/app/asset.1/own.ts:1:2)\n    at lib (/app/asset.1/node_modules/x/y.js:3:4)";
  const cause = { message: "why", stack: "Error: why\n    at z (/app/asset.1/z.ts:5:6)" };
  const record = { message: "job threw", type: "threw", topic: "work", id: "01K", attempt: 1 };
  const text = JSON.stringify({ ...record, error: { message: "no", stack, cause } });
  expect(formatLogLine("work", text, NOW, "/app/asset.1")).toMatchObject({
    job: "01K",
    event: { type: "threw" },
    trace:
      "Error: no\n    at own (own.ts:1:2)\n    at lib (node_modules/x/y.js:3:4)\ncaused by Error: why\n    at z (z.ts:5:6)",
  });
  const other = formatLogLine("work", JSON.stringify({ message: "hello", type: "threw", id: "01K" }), NOW);
  expect(other).not.toHaveProperty("event");
  expect(other).not.toHaveProperty("trace");
});
