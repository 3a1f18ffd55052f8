import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { pythonTest } from "../support/python.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

function start(
  { url }: ServedApi,
  args: readonly string[],
  stdout: "pipe" | number = "pipe",
): { child: ChildProcess; said: { out: string; err: string } } {
  const child = spawn(process.execPath, [MAIN, ...args], {
    // A local stack may run in the folder of the tests.
    cwd: tmpdir(),
    env: { ...process.env, MINUTEHAND_URL: url },
    stdio: ["pipe", stdout, "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout?.on("data", (data) => {
    said.out += data;
  });
  child.stderr?.on("data", (data) => {
    said.err += data;
  });
  return { child, said };
}

test("the program reads stdin, writes to stdout, and ends with an exit code", async () => {
  await using api = await serveApi();
  const filed = start(api, ["enqueue", "orders", "--delay", "1h", "--key", "k", "--body", "-", "--json"]);
  filed.child.stdin?.end('{"from": "stdin"}');
  expect(await once(filed.child, "close")).toEqual([0, null]);
  expect(JSON.parse(filed.said.out)).toMatchObject({ key: "k", body: { from: "stdin" } });
  const refused = start(api, ["cancel", "--topic", "orders", "--key", "nobody"]);
  expect(await once(refused.child, "close")).toEqual([1, null]);
  expect(refused.said).toEqual({ out: "", err: expect.stringMatching(/^minutehand: .*nobody.*\n$/) });
});

/** The jobs that the tests file lie in this range. */
const RANGE = ["--from", "2026-03-01T09:00:00Z", "--to", "2026-03-02T09:00:00Z"];
test.each([
  { args: ["list", ...RANGE], what: "a list" },
  { args: ["list", "--json", ...RANGE], what: "a list as JSON" },
  { args: ["topics"], what: "a table" },
  { args: ["--help"], what: "the help" },
  { args: ["enqueue", "orders", "--delay", "1h", "--body", "1"], what: "what a change answers" },
])("if the disk is full, the program says so in one line and fails: $what", async ({ args }) => {
  await using api = await serveApi();
  await api.file({ delay: "1h" });
  await api.file({ delay: "2h" });
  const full = openSync("/dev/full", "w");
  const { child, said } = start(api, args, full);
  closeSync(full);
  expect(await once(child, "close")).toEqual([1, null]);
  expect(said.err).toBe("minutehand: the output is lost: ENOSPC: no space left on device, write\n");
  const filed = api.world.pool.items().filter((item) => "body" in item);
  expect(filed).toHaveLength(args[0] === "enqueue" ? 3 : 2);
});

test("local refuses a number that cannot be a port", async () => {
  await using api = await serveApi();
  const { child, said } = start(api, ["local", "--port", "65536", "--data", "nowhere"]);
  expect(await once(child, "close")).toEqual([2, null]);
  expect(said).toEqual({
    out: "",
    err: expect.stringMatching(/^minutehand: option '--port <n>' .*from 0 to 65535\.\n$/),
  });
});

test("Ctrl-C ends an endless command with the exit code 130", async () => {
  await using api = await serveApi();
  await api.file({ delay: 0 });
  const { child, said } = start(api, ["tail", "--json"]);
  // The program has another clock than the API, so it finds no job. Its second call shows that it goes on.
  await expect.poll(() => api.authorizations.length).toBeGreaterThan(1);
  child.kill("SIGINT");
  expect(await once(child, "close")).toEqual([130, null]);
  expect(said.err).toBe("");
});

/** A Python program that runs a command on a pseudo-terminal and ends with the command's exit code. */
const ON_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

pythonTest.each([
  ["y\n", 0, "cancelled 1 job of orders"],
  ["n\n", 1, "minutehand: nothing was cancelled"],
  ["\u0003", 130, "^C"],
])("on a terminal the user is asked, and the answer %j decides", async (answer, code, last) => {
  await using api = await serveApi();
  await api.file({ delay: "1m" });
  const range = ["--from", "2026-03-01T09:00:00Z", "--to", "2026-03-01T10:00:00Z"];
  const args = [process.execPath, MAIN, "cancel", "--topic", "orders", ...range];
  const child = spawn("python3", ["-c", ON_TERMINAL, ...args], {
    cwd: tmpdir(),
    env: { ...process.env, MINUTEHAND_URL: api.url },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.on("data", (data) => {
    shown += data;
    if (/\[y\/N\] $/.test(shown)) child.stdin.write(answer);
  });
  expect(await once(child, "close")).toEqual([code, null]);
  expect(shown).toContain(last);
});

test("a command that changes jobs runs to its end even if nobody reads its output", async () => {
  await using api = await serveApi();
  const ids: string[] = [];
  for (const length of [500, 2]) {
    const jobs = Array.from({ length }, () => ({ topic: "orders", body: 1, delay: "1h" }));
    const { json } = await api.call("POST", "/jobs/batch", { body: { jobs } });
    ids.push(...(json.results as { job: { id: string } }[]).map(({ job }) => job.id));
  }
  const missing = "01KJMBQDE001HA2ZQ31MBWX213";
  const unread = start(api, ["cancel", ...ids.slice(1), "--json"]);
  unread.child.stdout?.destroy();
  const unheard = start(api, ["cancel", missing, ...ids.slice(0, 1)]);
  unheard.child.stderr?.destroy();
  const ends = [unread, unheard].map(({ child }) => once(child, "close"));
  expect(await Promise.all(ends)).toEqual([
    [0, null],
    [1, null],
  ]);
  const { json } = await api.call("GET", "/forecast?from=2026-03-01T09:00:00Z&to=2026-03-01T11:00:00Z");
  expect(json).toMatchObject({ minutes: [] });
});

test.each([
  ["tail", "--json"],
  ["list", "--json", "--from", "2026-03-01T09:00:00Z", "--to", "2026-04-01T09:00:00Z"],
])("%s ends without an error if its output is closed", async (...args) => {
  await using api = await serveApi();
  await api.file({ delay: "1m" });
  await api.file({ dueAt: new Date(Date.now() + 60_000).toISOString() });
  const { child, said } = start(api, args);
  child.stdout?.destroy();
  expect(await once(child, "close")).toEqual([0, null]);
  expect(said.err).toBe("");
  // `list` would read dozens of pages, and `tail` would never end.
  expect(api.authorizations.length).toBeLessThan(5);
});
