import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { descendants } from "../../tools/torture/process-tree.ts";
import { HANG_MS, PATIENCE_MS } from "../patience.ts";
import { type Api, apiAt } from "./api.ts";
import { here } from "./here.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "./running-stack.ts";
import { fileSwept, type Swept } from "./swept.ts";

type Batch = { results: { status: number; job: { id: string } }[] };

const HANDED_OVER = /handed over/;

const { skip, title } = here("kills", "a SIGKILL");

/** Kills real processes of a stack that no other file uses. All tests except the first two run in order. Each leaves the stack running. */
describe.skipIf(skip)(title, () => {
  let dataDir: string;
  let stack: RunningStack;
  let api: Api;
  let swept: Swept;

  beforeAll(async () => {
    dataDir = freshDataDir();
    stack = await startStack(dataDir);
    api = apiAt(stack.url);
    swept = await fileSwept(api);
  });
  afterAll(async () => {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  });

  // These two tests run at the same time, because the first waits for a sweep, and the second for the end of a lease.
  it.concurrent("of the tick hits it in the middle of a sweep (the last test checks the jobs of this sweep)", async () => {
    const before = stack.output();
    // If the sweep of these jobs has already begun, file jobs for a later sweep.
    if (HANDED_OVER.test(before)) swept = await fileSwept(api);
    await killDuringSweep(stack, before.length);
  });

  it.concurrent("of a consumer during a run makes the run a failed attempt, and the job runs again", async ({
    expect,
  }) => {
    const job = await api.file({ topic: "reminders", delay: 0, body: { takes: 20_000 } });
    await api.until(job.id, ({ state }) => state === "running");
    const victims = functionPids(stack.pid, "Consumerreminders");
    expect(victims.length).toBeGreaterThan(0);
    for (const pid of victims) process.kill(pid, "SIGKILL");
    // The lease ends with the invocation's deadline; the message comes back 30 s after that at the latest.
    const moved = await api.until(job.id, ({ revision }) => revision === 1);
    expect(moved).toMatchObject({ attempt: 1, lastError: expect.stringContaining("crashed") });
    await api.call("DELETE", `/jobs/${job.id}`);
  });

  it("of the whole stack loses no job: after the next start every job is still there, and none runs twice", async () => {
    const near = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        api.file({ topic: "reminders", delay: 30 + (i % 5), body: { i } }),
      ),
    );
    const far = await api.call<Batch>("POST", "/jobs/batch", {
      jobs: Array.from({ length: 100 }, (_, i) => ({ topic: "reminders", delay: 3600 + i, body: { i } })),
    });
    expect(far.body.results.every(({ status }) => status === 201)).toBe(true);
    await stack.kill("SIGKILL");
    stack = await startStack(dataDir);
    api = apiAt(stack.url);
    for (const { id } of near) {
      expect(await api.until(id, ({ state }) => state === "done")).toMatchObject({ attempt: 1 });
    }
    for (const { job } of far.body.results)
      expect(await api.get(job.id)).toMatchObject({ state: "scheduled" });
  });

  it("of the emulators loses no data: they are started again, and a job that was filed before runs", async () => {
    const job = await api.file({ topic: "reminders", delay: 30 });
    for (const pid of emulatorPids(stack.pid)) process.kill(pid, "SIGKILL");
    expect(await api.until(job.id, ({ state }) => state === "done")).toMatchObject({ attempt: 1 });
  });

  it("of the tick loses no job of its sweep: a later sweep hands over the rest, and each job runs once", async () => {
    const { dueAt, ids } = swept;
    const wait = Date.parse(dueAt) - Date.now();
    if (wait > 0) await sleep(wait);
    const ended = async () => new Map((await api.dueAt(dueAt)).map((job) => [job.id, job]));
    const unfinished = async () => {
      const jobs = await ended();
      return ids.filter((id) => jobs.get(id)?.state !== "done");
    };
    // The killed emulator of SQS may have lost messages. The audit sends their jobs again, up to 14 minutes after they were due.
    await expect.poll(unfinished, { interval: 1000, timeout: HANG_MS }).toEqual([]);
    const jobs = await ended();
    for (const id of ids) expect(jobs.get(id)).toMatchObject({ attempt: 1, revision: 0 });
  });
});

function functionPids(pid: number, name: string): number[] {
  return descendants(pid)
    .filter(({ command }) => command.includes("function-process") && command.includes(name))
    .map((child) => child.pid);
}

function emulatorPids(pid: number): number[] {
  return descendants(pid)
    .filter(({ command }) => /dynoxide|(?:dynamodb|fauxqs)-process/.test(command))
    .map((child) => child.pid);
}

/** As soon as the output says that jobs were handed over. `before`: how many characters of the output are older. */
async function killDuringSweep(stack: RunningStack, before: number): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!HANDED_OVER.test(stack.output().slice(before))) {
    if (Date.now() > end) throw new Error("no sweep handed anything over");
    await sleep(2);
  }
  const victims = functionPids(stack.pid, "Tick");
  if (victims.length === 0) throw new Error("the tick has no process");
  for (const pid of victims) process.kill(pid, "SIGKILL");
}
