import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "../e2e/running-stack.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const dataDir = freshDataDir();
let stack: RunningStack;

beforeAll(async () => {
  stack = await startStack(dataDir);
});

afterAll(async () => {
  await stack.kill("SIGTERM");
  removeDataDir(dataDir);
});

type Answer = { status: number; body: Record<string, unknown> };

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(stack.url + path, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

async function enqueue(topic: string, delay: number, body: object = {}): Promise<string> {
  return String((await call("POST", "/jobs", { topic, delay, body })).body.id);
}

const move = (asked: object) => call("POST", "/_minutehand/clock", asked);
const clock = async () => Date.parse(String((await call("GET", "/_minutehand/clock")).body.now));

/** The starts that the log shows so far, in its order: the id, the attempt, and how late it was. */
const starts = () =>
  [...stack.output().matchAll(/(\w{26}) {2}started attempt (\d+), (\d+) ms late/g)].map(
    ([, id = "", attempt, late]) => ({ id, attempt: Number(attempt), late: Number(late) }),
  );

test("jobs, retries, occurrences and leases run in their order while the clock moves by an hour", async () => {
  const began = await clock();
  const expression = "rate(25 minutes)";
  await call("PUT", "/schedules/often", { expression, topic: "reminders", body: {} });
  const hour = await enqueue("reminders", 3_590);
  // It waits for 15 s, 3 min and 10 min.
  const failing = await enqueue("reminders", 60, { fails: "not yet", failsUntil: 4 });
  const slow = await enqueue("reminders", 1_000, { takes: 2_000 });
  const pulled = await enqueue("work", 0);
  const receive = () => call("POST", "/topics/work/receive", { max: 1, waitSeconds: 5 });
  expect((await receive()).body.jobs).toMatchObject([{ id: pulled, attempt: 1 }]);

  expect((await move({ by: HOUR })).status).toBe(200);
  expect((await clock()) - began).toBeGreaterThanOrEqual(HOUR);
  expect((await clock()) - began).toBeLessThan(HOUR + 2 * MINUTE);

  await expect.poll(() => starts().some(({ id }) => id === hour)).toBe(true);
  const seen = starts().filter(({ id }) => id !== pulled);
  const named = new Map(Object.entries({ [failing]: "failing", [slow]: "slow", [hour]: "hour" }));
  expect(seen.map(({ id, attempt }) => `${named.get(id) ?? "often"} ${attempt}`)).toEqual([
    // A rate fires at once, and then after each 25 minutes.
    "often 1",
    "failing 1",
    "failing 2",
    "failing 3",
    "failing 4",
    "slow 1",
    "often 1",
    "often 1",
    "hour 1",
  ]);
  expect(Math.max(...seen.map(({ late }) => late))).toBeLessThan(20_000);
  // The lease of the worker that never answered has ended. The next receive counts a crash, and the job waits for 15 s.
  expect((await receive()).body.jobs).toEqual([]);
  expect((await move({ by: MINUTE })).status).toBe(200);
  const again = (await receive()).body.jobs as { receipt: string }[];
  expect(again).toMatchObject([{ id: pulled, attempt: 2 }]);
  await call("POST", "/topics/work/finish", { receipt: again[0]?.receipt });
  await call("DELETE", "/schedules/often");
});

test("a worker that waits gets a job in the job's own second, and time to settle it", async () => {
  const job = await enqueue("work", 20 * 60);
  const worker = (async () => {
    for (;;) {
      const { jobs } = (await call("POST", "/topics/work/receive", { max: 1, waitSeconds: 20 })).body as {
        jobs: { id: string; receipt: string }[];
      };
      for (const { id, receipt } of jobs) {
        await sleep(300);
        const finished = await call("POST", "/topics/work/finish", { receipt });
        if (id === job) return finished.status;
      }
    }
  })();
  expect((await move({ by: HOUR })).status).toBe(200);
  expect(await worker).toBe(200);
  const { body } = await call("GET", `/jobs/${job}`);
  expect(body).toMatchObject({ state: "done", attempt: 1 });
  expect(Date.parse(String(body.claimedAt ?? body.finishedAt)) - Date.parse(String(body.dueAt))).toBeLessThan(
    20_000,
  );
});

test("the clock goes to the next job, also over a week, and stays there after a restart", async () => {
  const week = await enqueue("reminders", (7 * DAY) / 1000);
  expect((await move({ to: "next-job" })).status).toBe(200);
  await expect.poll(async () => (await call("GET", `/jobs/${week}`)).body.state).toBe("done");
  expect(starts().at(-1)?.late).toBeLessThan(20_000);
  expect(await move({ to: "next-job" })).toMatchObject({ status: 404, body: { message: "no job waits" } });

  const before = await clock();
  await stack.kill("SIGTERM");
  stack = await startStack(dataDir);
  expect(await clock()).toBeGreaterThan(before);
  expect(stack.output()).toMatch(/the clock is \+\d+d .* ahead of this machine's, as it was moved/);
});

test("what is no move is refused", async () => {
  for (const body of [{}, { by: -1 }, { by: 1.5 }, { to: "yesterday" }])
    expect((await move(body)).status).toBe(400);
  const page = { origin: "https://example.com" };
  expect((await fetch(`${stack.url}/_minutehand/clock`, { method: "POST", headers: page })).status).toBe(403);
});
