import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { startEmbeddedStack } from "../../local/embedded-stack.ts";
import type { Client, PulledJob } from "../../src/client/client.ts";
import { createClient } from "../../src/client/http-client.ts";
import { createTestQueue } from "../../src/testing/test-queue.ts";
import { serveApi } from "../cli/served-api.ts";
import { PATIENCE_MS } from "../patience.ts";
import { createApi } from "../support/api.ts";
import { createWorld } from "../support/world.ts";
import { blocksOf, fileOf, ROOT, readPage } from "./blocks.ts";

const CRON = "docs/guides/from-cron.md";
const FOLDER = join(ROOT, "dist", "moving-blocks");

const SOURCES = { cdk: "infra/cdk.ts", client: "src/client/client.ts" };

/** Writes programs of a page beside each other. Node finds the package under its name only after a build, so they import its source. */
function write(page: string, ...names: readonly string[]): void {
  mkdirSync(FOLDER, { recursive: true });
  for (const name of names) {
    const block = blocksOf(page, readPage(page)).find((found) => fileOf(found) === name);
    if (!block) throw new Error(`${page} has no ${name}`);
    const program = Object.entries(SOURCES).reduce(
      (before, [of, source]) => before.replaceAll(`"minutehand/${of}"`, JSON.stringify(join(ROOT, source))),
      block.text,
    );
    writeFileSync(join(FOLDER, name), program);
  }
}

test("the topic that takes the place of QueueEvents hears of the ends of jobs, and a caller can wait for one", async () => {
  write("docs/guides/events.md", "events-app.ts", "order-ended.ts");
  write("docs/guides/from-bullmq.md", "orders.ts", "until-ended.ts");
  appendFileSync(join(FOLDER, "events-app.ts"), 'queue.addHandler("order-timeout", "orders.ts");\n');
  const dataDir = mkdtempSync(join(tmpdir(), "minutehand-moving-"));
  const lines: string[] = [];
  const stack = await startEmbeddedStack({
    ...{ port: 0, dataDir, memory: true, root: FOLDER, app: "node events-app.ts", oneShard: true },
    log: (line) => lines.push(line),
  });
  try {
    const queue = createClient({ url: stack.url });
    const { untilEnded } = await import(join(FOLDER, "until-ended.ts"));
    const file = (orderId: unknown) =>
      queue.enqueue("order-timeout", { orderId }, { key: `order-${orderId}`, delay: 0 });
    await file("17");
    const addressOf = (key: string) => ({ topic: "order-timeout", key });
    expect(await untilEnded(queue, addressOf("order-17"), 100)).toMatchObject({ state: "done" });
    const heard = (line: string) =>
      vi.waitFor(() => expect(lines.join("\n")).toContain(line), { timeout: PATIENCE_MS });
    await heard("order-17 is closed");
    // The handler cannot read this job.
    await queue.enqueue("order-timeout", null, { key: "order-18", delay: 0, maxAttempts: 1 });
    expect(await untilEnded(queue, addressOf("order-18"), 100)).toMatchObject({ state: "dead" });
    await heard("order-18 is dead: Cannot read");
  } finally {
    await stack.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("who waits for a job gives up after a minute, however often it asks", async () => {
  write("docs/guides/from-bullmq.md", "orders.ts", "until-ended.ts");
  const { untilEnded } = await import(join(FOLDER, "until-ended.ts"));
  let now = 0;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => now);
  const get = vi.fn(async () => {
    now += 10_000;
    return { state: "running" };
  });
  await expect(untilEnded({ get }, { topic: "order-timeout", key: "order-17" }, 1)).rejects.toThrow(
    "the job has not ended yet",
  );
  clock.mockRestore();
  expect(get).toHaveBeenCalledTimes(6);
});

/** A client whose last `receive`, which finds no job, aborts `stop`. */
function untilEmpty(client: Client, stop: AbortController): Client {
  const receive = async (...asked: Parameters<Client["receive"]>): Promise<PulledJob[]> => {
    const jobs = await client.receive(...asked);
    if (jobs.length === 0) stop.abort();
    return jobs;
  };
  return { ...client, receive } as Client;
}

test("the worker that takes the place of the crontab runs the line that each occurrence names", async () => {
  write(CRON, "crontab.ts");
  const { work } = await import(join(FOLDER, "crontab.ts"));
  const settings = {
    consumer: "pull",
    maxAttempts: 1,
    ttr: "2m",
    ifLate: { after: "1h", do: "skip" },
  } as const;
  const friday = new Date("2026-01-02T08:00:00Z");
  const queue = createTestQueue({ topics: { cron: settings }, now: friday });
  const weekdays = { topic: "cron", expression: "30 8 * * 1-5", timezone: "Europe/Berlin" } as const;
  await queue.client.putSchedule("report", { ...weekdays, body: { line: "report" } });
  const runs = async (report: string): Promise<void> => {
    const stop = new AbortController();
    await work(untilEmpty(queue.client, stop), { report, clean: "exit 1" }, stop.signal);
  };
  await queue.advance("2d");
  expect(queue.jobs()).toEqual([]);
  await queue.advance("1d"); // Monday, half an hour after the occurrence
  await runs("true");
  await queue.advance("1d");
  await runs("echo 'no disk' >&2; exit 3");
  await queue.advance("1d");
  await queue.advance("1d");
  await runs("true");
  expect(queue.jobs().map(({ dueAt, state }) => `${dueAt} ${state}`)).toEqual([
    "2026-01-05T07:30:00.000Z done",
    "2026-01-06T07:30:00.000Z dead",
    "2026-01-07T07:30:00.000Z cancelled",
    "2026-01-08T07:30:00.000Z done",
  ]);
  expect(queue.jobs()[1]?.lastError).toMatch(/^exit 3: no disk \(.*crontab\.ts:\d+\)$/);
  await queue.client.enqueue("cron", { line: "rm -rf /" }, { delay: 0 });
  await queue.advance(0);
  await runs("true");
  expect(queue.jobs().at(-1)?.lastError).toMatch(/^lines\.json has no rm -rf/);
});

/** Writes a program of the shell that says in `said.txt` that it has begun, and that it was ended. */
function writeChild(): { said: () => string; line: string } {
  const [child, file] = ["child.sh", "said.txt"].map((name) => join(FOLDER, name)) as [string, string];
  writeFileSync(file, "");
  const loop = "for i in $(seq 600); do sleep 0.1; done";
  writeFileSync(child, `trap 'echo ended >> ${file}; exit' TERM\necho began >> ${file}\n${loop}\n`);
  return { said: () => readFileSync(file, "utf8"), line: `sh ${child} > ${file}.out 2>&1 & wait` };
}

test("the worker that takes the place of the crontab ends all processes of a line whose lease is lost", async () => {
  write(CRON, "crontab.ts");
  const { work } = await import(join(FOLDER, "crontab.ts"));
  const queue = createTestQueue({ topics: { cron: { consumer: "pull" } } });
  await queue.client.enqueue("cron", { line: "sleep" }, { delay: 0 });
  await queue.advance(0);
  const stop = new AbortController();
  const client = untilEmpty(queue.client, stop);
  const lost = async () => Promise.reject(new Error("another worker has the job"));
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const { said, line } = writeChild();
  const worked = work({ ...client, extend: lost }, { sleep: line }, stop.signal);
  await vi.waitFor(() => expect([vi.getTimerCount(), said()]).toEqual([1, "began\n"]), {
    timeout: PATIENCE_MS,
  });
  vi.advanceTimersByTime(30_000);
  vi.useRealTimers();
  await worked;
  expect(queue.jobs()[0]?.lastError).toContain("exit SIGTERM");
  await vi.waitFor(() => expect(said()).toBe("began\nended\n"), { timeout: PATIENCE_MS });
});

test.each([
  { exit: 0, state: "done", reported: /^$/ },
  { exit: 3, state: "scheduled", reported: /^cron: job \S+, attempt 1: Error: exit 3: a warning\n/ },
])(
  "the program of the crontab's worker logs all that a line prints that exits $exit, and ends at SIGTERM after the run",
  async ({ exit, state, reported }) => {
    write(CRON, "crontab.ts");
    await using api = await serveApi(createApi(createWorld({ topics: { cron: { consumer: "pull" } } })));
    const { id } = await api.file({ topic: "cron", delay: 0, body: { line: "report" } });
    const unit = blocksOf(CRON, readPage(CRON)).find((block) => block.text.includes("crontab.service"));
    const [, file = ""] = /^ExecStart=\/usr\/bin\/node (\S+) https:\S+$/m.exec(unit?.text ?? "") ?? [];
    const script = `kill -TERM $PPID; sleep 0.5; echo written; echo 'a warning' >&2; exit ${exit}`;
    writeFileSync(join(FOLDER, "lines.json"), JSON.stringify({ report: script }));
    const program = spawn(process.execPath, [file, api.url], {
      ...{ cwd: FOLDER, stdio: ["ignore", "pipe", "pipe"] },
    });
    const [printed, warned, [status]] = await Promise.all([
      text(program.stdout),
      text(program.stderr),
      once(program, "close"),
    ]);
    const [warning, ...report] = warned.split("\n");
    expect({ printed, warning, status }).toEqual({ printed: "written\n", warning: "a warning", status: 0 });
    expect(report.join("\n")).toMatch(reported);
    expect((await api.call("GET", `/jobs/${id}`)).json).toMatchObject({ state });
  },
);

test("the worker that takes the place of a loop over SQS closes each order, and retries one that fails", async () => {
  write("docs/guides/from-sqs.md", "poll.ts");
  const { work } = await import(join(FOLDER, "poll.ts"));
  const queue = createTestQueue({ topics: { "order-timeout": { consumer: "pull" } } });
  for (const orderId of ["17", "18"]) await queue.client.enqueue("order-timeout", { orderId }, { delay: 0 });
  await queue.advance(0);
  const stop = new AbortController();
  const closed: string[] = [];
  await work(untilEmpty(queue.client, stop), stop.signal, async (orderId: string) => {
    if (orderId === "18") throw new Error("no route");
    closed.push(orderId);
  });
  expect(closed).toEqual(["17"]);
  expect(queue.jobs().map(({ state, lastError }) => [state, lastError])).toEqual([
    ["done", undefined],
    ["scheduled", expect.stringContaining("no route")],
  ]);
});
