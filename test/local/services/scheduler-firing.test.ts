import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Clock } from "../../../local/services/clock.ts";
import type { InvokeResult } from "../../../local/services/schedule-firing.ts";
import { openScheduleStore } from "../../../local/services/schedule-store.ts";
import { createSchedulerService, type SchedulerService } from "../../../local/services/scheduler.ts";
import { fakeClock } from "./fake-clock.ts";

const NOON = Date.UTC(2026, 2, 12, 12);
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:promote";
const ROLE = "arn:aws:iam::000000000000:role/scheduler";
const ARN = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/one";

let folder: string;
let clock: ReturnType<typeof fakeClock>;
let scheduler: SchedulerService;
let lines: string[];
/** Each invocation of the target: its time, in ms after noon, and its event. */
let calls: { at: number; event: unknown }[];
/** The results of the next invocations. Later invocations result in `done`. */
let results: (InvokeResult | Promise<InvokeResult>)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-"));
  clock = fakeClock(NOON);
  [lines, calls, results] = [[], [], []];
  start();
});

afterEach(() => {
  scheduler.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(random = 0, time: Clock = clock): void {
  const file = join(folder, "schedules.sqlite");
  scheduler = createSchedulerService({ region: "us-east-1", account: "000000000000", file, clock: time });
  scheduler.start({
    random: () => random,
    log: (line) => lines.push(line),
    invoke: async (_, event) => {
      calls.push({ at: clock.now() - NOON, event });
      return results.shift() ?? "done";
    },
  });
}

function restart(random?: number): void {
  scheduler.close();
  start(random);
}

function call(operation: string, body: object = {}, query = "", Name = "one"): object {
  const { answer } = scheduler.operations[operation] ?? {};
  if (!answer) throw new Error(`there is no operation ${operation}`);
  return answer({ parameters: { Name }, query: new URLSearchParams(query), headers: {}, body });
}

const request = (expression: string, more: object = {}, target: object = {}) => ({
  ScheduleExpression: expression,
  FlexibleTimeWindow: { Mode: "OFF" },
  Target: { Arn: FUNCTION, RoleArn: ROLE, Input: '"<aws.scheduler.scheduled-time>"', ...target },
  ...more,
});
const create = (expression: string, more: object = {}, target: object = {}) =>
  call("POST /schedules/{Name}", request(expression, more, target));
const times = () => calls.map(({ at }) => at);
const kept = () => Object.values(call("GET /schedules"))[0].length;

test("a one-time schedule fires once, at its time", async () => {
  create("at(2026-03-12T13:00:00)");
  await clock.advanceTo(NOON + HOUR - 1);
  expect(times()).toEqual([]);
  await clock.advanceTo(NOON + 24 * HOUR);
  expect(calls).toEqual([{ at: HOUR, event: "2026-03-12T13:00:00Z" }]);
  expect(kept()).toBe(1);
});

test("a one-time schedule for a past time fires at once", async () => {
  create("at(2026-03-12T11:00:00)");
  await clock.advanceTo(NOON);
  expect(times()).toEqual([0]);
});

test("rate counts from the creation, cron fires at its first match", async () => {
  await clock.advanceTo(NOON + SECOND);
  create("rate(2 minutes)");
  await clock.advanceTo(NOON + 5 * MINUTE);
  expect(times()).toEqual([SECOND, 2 * MINUTE + SECOND, 4 * MINUTE + SECOND]);
  calls = [];
  call(
    "PUT /schedules/{Name}",
    request("cron(0 14 * * ? *)", { ScheduleExpressionTimezone: "Europe/Berlin" }),
  );
  await clock.advanceTo(NOON + 48 * HOUR);
  expect(times()).toEqual([HOUR, 25 * HOUR]);
});

test("rate counts from the creation even if time passes during the request", async () => {
  scheduler.close();
  let reads = 0;
  start(0, { ...clock, now: () => clock.now() + reads++ });
  create("rate(1 hour)");
  await clock.advanceTo(NOON + MINUTE);
  expect(times()).toHaveLength(1);
});

test("nothing fires before the start or after the end", async () => {
  const dates = { StartDate: (NOON + 3 * MINUTE) / 1000, EndDate: (NOON + 6 * MINUTE) / 1000 };
  create("rate(2 minutes)", dates);
  await clock.advanceTo(NOON + HOUR);
  expect(times()).toEqual([3 * MINUTE, 5 * MINUTE]);
});

test("a stored schedule with a time zone that is invalid now does not fire until it is updated; others fire", async () => {
  create("at(2026-03-12T13:00:00)");
  scheduler.close();
  const store = openScheduleStore(join(folder, "schedules.sqlite"));
  const [stored] = store.schedules();
  if (!stored) throw new Error("no schedule is kept");
  // The name `a` sorts before the other schedule's.
  const before = { ...stored.request, Name: "a", ScheduleExpressionTimezone: "BST" };
  store.put({ ...stored, request: before });
  store.close();
  start();
  await clock.advanceTo(NOON + HOUR);
  expect(times()).toEqual([HOUR]);
  expect(lines).toEqual([expect.stringMatching(/^schedule default\/a does not fire: .*"BST"/)]);

  call("PUT /schedules/{Name}", request("at(2026-03-12T14:00:00)"), "", "a");
  await clock.advanceTo(NOON + 3 * HOUR);
  expect(times()).toEqual([HOUR, 2 * HOUR]);
});

test("a flexible window delays a schedule by a part of the window", async () => {
  restart(0.5);
  const window = { FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 10 } };
  create("at(2026-03-12T13:00:00)", window);
  await clock.advanceTo(NOON + 2 * HOUR);
  expect(calls).toEqual([{ at: HOUR + 5 * MINUTE, event: "2026-03-12T13:00:00Z" }]);
});

test("a disabled schedule does not fire, and does not catch up after it is enabled", async () => {
  create("rate(1 hour)", { State: "DISABLED" });
  await clock.advanceTo(NOON + 90 * MINUTE);
  call("PUT /schedules/{Name}", request("rate(1 hour)"));
  await clock.advanceTo(NOON + 2 * HOUR);
  call("PUT /schedules/{Name}", request("rate(1 hour)", { State: "DISABLED" }));
  await clock.advanceTo(NOON + 9 * HOUR);
  expect(times()).toEqual([2 * HOUR]);
});

test("a deleted schedule does not fire", async () => {
  create("at(2026-03-12T13:00:00)");
  call("DELETE /schedules/{Name}");
  await clock.advanceTo(NOON + 2 * HOUR);
  expect(times()).toEqual([]);
});

test("with ActionAfterCompletion DELETE a schedule is deleted after its last run, and not before", async () => {
  const { promise, resolve } = Promise.withResolvers<InvokeResult>();
  results = [promise];
  create("at(2026-03-12T13:00:00)", { ActionAfterCompletion: "DELETE" });
  await clock.advanceTo(NOON + HOUR);
  expect(kept()).toBe(1);
  resolve("done");
  await clock.advanceTo(NOON + HOUR);
  expect(kept()).toBe(0);
});

test("a failed run is retried with exponential backoff, up to its maximum of attempts", async () => {
  results = ["failed", "failed", "failed"];
  const more = { ActionAfterCompletion: "DELETE" };
  const RetryPolicy = { MaximumRetryAttempts: 2 };
  create("at(2026-03-12T13:00:00)", more, { Input: '"<aws.scheduler.attempt-number>"', RetryPolicy });
  await clock.advanceTo(NOON + 2 * HOUR);
  expect(calls).toEqual([
    { at: HOUR, event: "1" },
    { at: HOUR + SECOND, event: "2" },
    { at: HOUR + 3 * SECOND, event: "3" },
  ]);
  expect(lines).toEqual([
    "schedule default/one gave up after attempt 3 of its run of 2026-03-12T13:00:00.000Z",
  ]);
  expect(kept()).toBe(0);
});

test("a failed run is not retried after its maximum age", async () => {
  results = Array(99).fill("failed");
  create("at(2026-03-12T13:00:00)", {}, { RetryPolicy: { MaximumEventAgeInSeconds: 60 } });
  await clock.advanceTo(NOON + 2 * HOUR);
  expect(times().at(-1)).toBe(HOUR + 31 * SECOND);
  expect(lines).toEqual([
    "schedule default/one gave up after attempt 6 of its run of 2026-03-12T13:00:00.000Z",
  ]);
});

test("a run that fails after its schedule was replaced is not retried", async () => {
  const { promise, resolve } = Promise.withResolvers<InvokeResult>();
  results = [promise];
  create("at(2026-03-12T13:00:00)");
  await clock.advanceTo(NOON + HOUR);
  call("PUT /schedules/{Name}", request("at(2026-03-12T15:00:00)"));
  resolve("failed");
  await clock.advanceTo(NOON + 4 * HOUR);
  expect(times()).toEqual([HOUR, 3 * HOUR]);
});

test("an update keeps runs that wait for their time in the window, and runs that wait for a retry", async () => {
  restart(0.5);
  const flexible = { FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 60 } };
  create("rate(6 hours)", flexible);
  results = ["failed"];
  await clock.advanceTo(NOON + 10 * MINUTE);
  call("PUT /schedules/{Name}", request("rate(5 hours)", flexible));
  await clock.advanceTo(NOON + 30 * MINUTE);
  call("PUT /schedules/{Name}", request("rate(4 hours)", flexible));
  await clock.advanceTo(NOON + HOUR);
  expect(times()).toEqual([30 * MINUTE, 30 * MINUTE + SECOND]);
});

test("an update that disables a schedule drops its waiting runs", async () => {
  restart(0.5);
  const flexible = { FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 60 } };
  create("rate(6 hours)", flexible);
  await clock.advanceTo(NOON + 10 * MINUTE);
  call("PUT /schedules/{Name}", request("rate(6 hours)", { ...flexible, State: "DISABLED" }));
  call("PUT /schedules/{Name}", request("rate(6 hours)", flexible));
  await clock.advanceTo(NOON + HOUR);
  expect(times()).toEqual([]);
});

test("a refused run is not retried", async () => {
  results = ["refused"];
  create("at(2026-03-12T13:00:00)");
  await clock.advanceTo(NOON + 2 * HOUR);
  expect(times()).toEqual([HOUR]);
});

test("a slow run does not delay the next run", async () => {
  results = [new Promise<InvokeResult>(() => {})];
  create("rate(1 minute)");
  await clock.advanceTo(NOON + 2 * MINUTE);
  expect(times()).toEqual([0, MINUTE, 2 * MINUTE]);
});

test("after a restart missed occurrences fire, each once", async () => {
  create("rate(1 hour)");
  await clock.advanceTo(NOON);
  scheduler.close();
  await clock.advanceTo(NOON + 2 * HOUR + MINUTE);
  start();
  await clock.advanceTo(NOON + 3 * HOUR);
  restart();
  await clock.advanceTo(NOON + 3 * HOUR + MINUTE);
  expect(calls.map(({ at, event }) => [at, event])).toEqual([
    [0, "2026-03-12T12:00:00Z"],
    [2 * HOUR + MINUTE, "2026-03-12T13:00:00Z"],
    [2 * HOUR + MINUTE, "2026-03-12T14:00:00Z"],
    [3 * HOUR, "2026-03-12T15:00:00Z"],
  ]);
});

test("a run that a crash interrupted is repeated", async () => {
  results = [new Promise<InvokeResult>(() => {})];
  create("at(2026-03-12T13:00:00)", { ActionAfterCompletion: "DELETE" });
  await clock.advanceTo(NOON + HOUR);
  restart();
  await clock.advanceTo(NOON + HOUR);
  expect(times()).toEqual([HOUR, HOUR]);
  expect(kept()).toBe(0);
});

test.each([
  ["", {}],
  [" after its place in the window", { FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 9 } }],
])("an occurrence that was missed by more than its maximum age%s is dropped", async (_, more) => {
  create("at(2026-03-12T13:00:00)", more, { RetryPolicy: { MaximumEventAgeInSeconds: 60 } });
  scheduler.close();
  await clock.advanceTo(NOON + HOUR + MINUTE + 1);
  start();
  await clock.advanceTo(NOON + 2 * HOUR);
  expect(times()).toEqual([]);
});

test("the input's keywords are replaced", async () => {
  const keywords = ["schedule-arn", "scheduled-time", "execution-id", "attempt-number"];
  const Input = JSON.stringify(keywords.map((keyword) => `<aws.scheduler.${keyword}>`));
  create("at(2026-03-12T13:00:00)", {}, { Input });
  await clock.advanceTo(NOON + HOUR);
  const execution = expect.stringMatching(/^[0-9a-f]{16}$/);
  expect(calls[0]?.event).toEqual([ARN, "2026-03-12T13:00:00Z", execution, "1"]);
});

test("without an input the event has EventBridge's default form", async () => {
  create("at(2026-03-12T13:00:00)", {}, { Input: undefined });
  await clock.advanceTo(NOON + HOUR);
  expect(calls[0]?.event).toMatchObject({
    source: "aws.scheduler",
    time: "2026-03-12T13:00:00Z",
    region: "us-east-1",
    account: "000000000000",
    resources: [ARN],
  });
});
