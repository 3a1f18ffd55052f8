import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { descendants } from "../../torture/process-tree.ts";
import { type Api, apiAt } from "./api.ts";
import { here } from "./here.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "./running-stack.ts";

type Batch = { results: { status: number; job: { id: string } }[] };

const SWEPT_BATCHES = 4;

const { skip, title } = here("kills", "killed");

/** SIGKILL to real processes, on a stack of its own. In order: each test leaves the stack running. */
describe.skipIf(skip)(title, () => {
  let dataDir: string;
  let stack: RunningStack;
  let api: Api;
  const swept: string[] = [];

  beforeAll(async () => {
    dataDir = freshDataDir();
    stack = await startStack(dataDir);
    api = apiAt(stack.url);
  });
  afterAll(async () => {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  });

  it("the sweep in mid-page: a tick dies while it hands over", async () => {
    // Beyond what their writer would send, so that a sweep must.
    const dueAt = new Date(Date.now() + 225_000).toISOString();
    for (let i = 0; i < SWEPT_BATCHES; i++) {
      const { body } = await api.call<Batch>("POST", "/jobs/batch", {
        jobs: Array.from({ length: 500 }, (_, j) => ({
          topic: "reminders",
          dueAt,
          group: `g${j}`,
          body: { i, j },
        })),
      });
      swept.push(...body.results.map(({ job }) => job.id));
    }
    await killDuringSweep(stack, 120_000);
  });

  it("a consumer in mid-job: the run is a failed attempt, and the job runs again", async () => {
    const job = await api.file({ topic: "reminders", delay: 0, body: { takes: 20_000 } });
    await api.until(job.id, ({ state }) => state === "running", 20_000);
    const victims = functionPids(stack.pid, "Consumerreminders");
    expect(victims.length).toBeGreaterThan(0);
    for (const pid of victims) process.kill(pid, "SIGKILL");
    // The lease ends with the invocation's deadline; the message comes back 30 s after that at the latest.
    const moved = await api.until(job.id, ({ revision }) => revision === 1, 120_000);
    expect(moved).toMatchObject({ attempt: 1, lastError: expect.stringContaining("crashed") });
    await api.call("DELETE", `/jobs/${job.id}`);
  });

  it("the whole stack: on the next start every job is still there, and none runs twice", async () => {
    const near = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.file({ topic: "reminders", delay: 6 + (i % 5), body: { i } })),
    );
    const far = await api.call<Batch>("POST", "/jobs/batch", {
      jobs: Array.from({ length: 100 }, (_, i) => ({ topic: "reminders", delay: 3600 + i, body: { i } })),
    });
    expect(far.body.results.every(({ status }) => status === 201)).toBe(true);
    await stack.kill("SIGKILL");
    stack = await startStack(dataDir);
    api = apiAt(stack.url);
    for (const { id } of near) {
      expect(await api.until(id, ({ state }) => state === "done", 60_000)).toMatchObject({ attempt: 1 });
    }
    for (const { job } of far.body.results)
      expect(await api.get(job.id)).toMatchObject({ state: "scheduled" });
  });

  it("the emulators: they come back with their data", async () => {
    const job = await api.file({ topic: "reminders", delay: 8 });
    for (const pid of emulatorPids(stack.pid)) process.kill(pid, "SIGKILL");
    await sleep(1000);
    expect(await api.until(job.id, ({ state }) => state === "done", 60_000)).toMatchObject({ attempt: 1 });
  });

  it("what the killed sweep had begun was finished by the next: each job runs, once", async () => {
    for (const id of swept) {
      expect(await api.until(id, ({ state }) => state === "done", 200_000)).toMatchObject({
        attempt: 1,
        revision: 0,
      });
    }
  });
});

function functionPids(pid: number, name: string): number[] {
  return descendants(pid)
    .filter(({ command }) => command.includes("runtime") && command.includes(name))
    .map((child) => child.pid);
}

function emulatorPids(pid: number): number[] {
  return descendants(pid)
    .filter(({ command }) => command.includes("dynoxide") || command.includes("fauxqs"))
    .map((child) => child.pid);
}

/** Kills the tick's process when the first jobs have been handed over; throws when that does not come to pass. */
async function killDuringSweep(stack: RunningStack, ms: number): Promise<void> {
  const end = Date.now() + ms;
  const before = stack.output().length;
  while (!/handed over/.test(stack.output().slice(before))) {
    if (Date.now() > end) throw new Error(`no sweep handed anything over within ${ms} ms`);
    await sleep(2);
  }
  const victims = functionPids(stack.pid, "Tick");
  if (victims.length === 0) throw new Error("the tick has no process");
  for (const pid of victims) process.kill(pid, "SIGKILL");
}
