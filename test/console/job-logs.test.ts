import { expect, test } from "vitest";
import { createJobLogs } from "../../console/job-logs.ts";

const textsOf = (logs: ReturnType<typeof createJobLogs>, job: string) =>
  logs.of(job).lines.map(({ text }) => text);

test("the lines of a failed job stay, however many lines other jobs write", () => {
  const logs = createJobLogs();
  logs.add({ text: "started", at: 1, job: "a", event: { type: "started" } });
  logs.add({ text: "threw", at: 2, job: "a", event: { type: "threw" }, trace: "Error: no\n at x" });
  logs.add({ text: "failed", at: 3, job: "a", event: { type: "failed" } });
  for (let number = 0; number < 5000; number++)
    logs.add({ text: "done", at: 4, job: `b${number}`, event: { type: "done" } });
  expect(logs.of("a")).toEqual({
    lines: [
      { text: "started", at: 1 },
      { text: "threw", at: 2, trace: "Error: no\n at x" },
      { text: "failed", at: 3 },
    ],
    isWhole: true,
  });
  expect(textsOf(logs, "b0")).toEqual([]);
  expect(textsOf(logs, "b4999")).toEqual(["done"]);
  logs.add({ text: "started again", at: 9, job: "a", event: { type: "started" } });
  expect(textsOf(logs, "a")).toEqual(["started", "threw", "failed", "started again"]);
});

test("what a function wrote while it ran a job is of the job, although it does not name the job", () => {
  const logs = createJobLogs();
  const [text, at] = ["calls the bank", 1];
  logs.add({ text: "started", at, job: "a", event: { type: "started" }, pid: 7 });
  logs.add({ text, at, pid: 7 });
  logs.add({ text: "of another process", at, pid: 8 });
  logs.add({ text: "of the runner", at });
  logs.add({ text: "started", at, job: "b", event: { type: "started" }, pid: 7 });
  logs.add({ text: "of one of them", at, pid: 7 });
  logs.add({ text: "failed", at, job: "a", event: { type: "failed" }, pid: 7 });
  logs.add({ text: "after it", at, pid: 7 });
  expect(textsOf(logs, "a")).toEqual(["started", text, "of one of them", "failed"]);
  expect(textsOf(logs, "b")).toEqual(["started", "of one of them", "after it"]);
  expect(logs.of("a").lines.map(({ isShared }) => isShared)).toEqual([undefined, undefined, true, undefined]);
});

test("lines about no job are not kept", () => {
  const logs = createJobLogs();
  logs.add({ text: "warning: no job", at: 1 });
  expect(textsOf(logs, "")).toEqual([]);
});

test("the jobs that failed last keep their lines", () => {
  const logs = createJobLogs();
  for (let number = 0; number < 250; number++)
    logs.add({ text: "no", at: 1, job: `a${number}`, event: { type: "failed" } });
  expect(textsOf(logs, "a49")).toEqual([]);
  expect(textsOf(logs, "a50")).toEqual(["no"]);
  logs.add({ text: "again", at: 2, job: "a50", event: { type: "failed" } });
  logs.add({ text: "no", at: 2, job: "b", event: { type: "failed" } });
  expect(textsOf(logs, "a50")).toEqual(["no", "again"]);
  expect(textsOf(logs, "a51")).toEqual([]);
});

test("a job keeps its last lines, up to a number and a length", () => {
  const logs = createJobLogs();
  for (let number = 0; number < 300; number++)
    logs.add({ text: `${number}`, at: 1, job: "a", event: { type: "failed" } });
  expect(logs.of("a").lines).toHaveLength(200);
  expect(logs.of("a")).toMatchObject({ lines: { 0: { text: "100" } }, isWhole: false });
  for (let number = 0; number < 9; number++)
    logs.add({ text: `${number}`, at: 1, job: "b", trace: "x".repeat(30_000) });
  expect(textsOf(logs, "b")).toEqual(["5", "6", "7", "8"]);
  // The last line is kept, however long it is.
  logs.add({ text: "x".repeat(300_000), at: 1, job: "b" });
  expect(logs.of("b").lines).toHaveLength(1);
});

test("a log is not whole if lines of its job may have been dropped", () => {
  const logs = createJobLogs();
  const start = (job: string) => logs.add({ text: "started", at: 1, job, event: { type: "started" } });
  start("a");
  for (let number = 0; number < 499; number++) start(`b${number}`);
  expect([logs.of("a").isWhole, logs.of("none").isWhole]).toEqual([true, true]);
  start("c");
  expect(logs.of("a")).toEqual({ lines: [], isWhole: false });
  start("a");
  expect(logs.of("a")).toMatchObject({ lines: [{ text: "started" }], isWhole: false });
  expect(logs.of("c").isWhole).toBe(true);
  logs.add({ text: "filed", at: 2, job: "new", event: { type: "enqueued" } });
  start("new");
  expect(logs.of("new").isWhole).toBe(true);
});
