import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type } from "../cli/command-line.ts";
import { apiAt, type JobView } from "./api.ts";
import { here } from "./here.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "./running-stack.ts";

const { skip, title } = here("local-commands", "a queue that moves to another stack");
const JOBS = 12;

describe.skipIf(skip)(title, () => {
  const folders: string[] = [];
  const stacks: RunningStack[] = [];

  beforeAll(async () => {
    for (const _ of ["old", "new"]) folders.push(freshDataDir());
    stacks.push(...(await Promise.all(folders.map((folder) => startStack(folder)))));
  });

  afterAll(async () => {
    await Promise.all(stacks.map((stack) => stack.kill("SIGTERM")));
    for (const folder of folders) removeDataDir(folder);
  });

  it("by an export and two imports runs each of its jobs once, in the new stack", async () => {
    const [old, target] = stacks as [RunningStack, RunningStack];
    const dueAt = new Date(Date.now() + 60_000).toISOString();
    await apiAt(old.url).call("POST", "/topics/reminders/pause");
    for (let i = 0; i < JOBS; i++)
      await apiAt(old.url).file({ topic: "reminders", body: { text: `job ${i}` }, dueAt, tag: "moved" });
    const schedule = {
      topic: "reminders",
      body: {},
      expression: "rate(2 days)",
      start: "2035-01-01T00:00:00Z",
    };
    await apiAt(old.url).call("PUT", "/schedules/yearly", schedule);

    const file = join(folders[0] ?? "", "shop.jsonl");
    const range = ["--from", new Date().toISOString(), "--to", new Date(Date.now() + 600_000).toISOString()];
    expect((await typed(old, "export", file, ...range)).out).toMatch(/ has 12 jobs .*, and 1 schedule\n$/);
    expect((await typed(target, "import", file, "--yes")).out).toBe("filed 12 jobs; put 1 schedule\n");
    expect((await typed(target, "import", file, "--yes")).out).toBe(
      "filed 0 jobs, 12 jobs had been filed before; put 1 schedule\n",
    );

    const api = apiAt(target.url);
    const ids = (await api.dueAt(dueAt)).map(({ id }) => id);
    expect(ids).toHaveLength(JOBS);
    const done: JobView[] = [];
    for (const id of ids) done.push(await api.until(id, ({ state }) => state === "done"));
    expect(done.map(({ attempt }) => attempt)).toEqual(Array(JOBS).fill(1));
    for (const id of ids) expect(runsOf(target, id)).toBe(1);
    expect((await apiAt(old.url).dueAt(dueAt)).map(({ state }) => state)).toEqual(
      Array(JOBS).fill("scheduled"),
    );
  });
});

function typed({ url }: RunningStack, ...args: string[]) {
  const env = { MINUTEHAND_URL: url };
  return type(undefined, args, { env, clock: Date.now, wait: (ms) => sleep(ms) });
}

/** How often the handler says that it has started the job. */
function runsOf({ output }: RunningStack, id: string): number {
  return output()
    .split("\n")
    .filter((line) => /\breminder\b/.test(line) && line.includes(id)).length;
}
