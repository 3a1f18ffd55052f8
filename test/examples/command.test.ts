import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { runCommand } from "../../examples/pull/run-command.ts";
import { type Client, pull } from "../../src/client/client.ts";
import { blocks, fileOf } from "../docs/blocks.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/pull/run-command.ts");
const script = (code: string): [string, string[]] => [process.execPath, ["-e", code]];

/** A client that hands out one job, and notes what the worker does with it. */
function oneJob(stop: AbortController, calls: unknown[][]): Client<{ work: null }> {
  const note =
    (verb: string) =>
    async (...args: unknown[]) =>
      void calls.push([verb, ...args]);
  const receive = async () => {
    stop.abort();
    return [{ receipt: "r", body: null }];
  };
  const client = { receive, extend: note("extend"), finish: note("finish"), retry: note("retry") };
  return client as unknown as Client<{ work: null }>;
}

async function callsOf(command: readonly [string, readonly string[]]): Promise<unknown[][]> {
  const [stop, calls] = [new AbortController(), [] as unknown[][]];
  await pull(oneJob(stop, calls), "work", (_, lost) => runCommand(...command, lost), {
    stop: stop.signal,
    extendEvery: 0.05,
  });
  return calls;
}

test("a worker extends the lease while the command of a job runs, and then finishes the job", async () => {
  const calls = await callsOf(script("setTimeout(() => {}, 400)"));
  expect(calls.length).toBeGreaterThan(1);
  expect(calls[0]).toEqual(["extend", "work", "r", 30]);
  expect(calls.at(-1)).toEqual(["finish", "work", "r"]);
});

test("a worker reports the exit code of a command, and what it has written to stderr, as the failure", async () => {
  const calls = await callsOf(script("console.error('no such image'); process.exitCode = 3"));
  const error = expect.stringContaining(`${process.execPath} ended with exit code 3: no such image`);
  expect(calls.at(-1)).toEqual(["retry", "work", "r", { error }]);
});

test("a command that is absent, or that a signal ends, is a failure too", async () => {
  const lost = new AbortController().signal;
  await expect(runCommand("no-such-program", [], lost)).rejects.toThrow("no-such-program ended with ENOENT");
  const killed = runCommand(...script("process.kill(process.pid, 'SIGKILL')"), lost);
  await expect(killed).rejects.toThrow("ended with SIGKILL");
});

test("a command ends when the job is no longer this worker's", async () => {
  const lost = new AbortController();
  const running = runCommand(...script("setTimeout(() => {}, 60_000)"), lost.signal);
  await sleep(100);
  lost.abort(new Error("claim-lost"));
  await expect(running).rejects.toThrow("claim-lost");
});

test("the page about pulling shows the program", () => {
  const shown = blocks().find(
    (block) => block.page === "docs/guides/pull.md" && fileOf(block) === "run-command.ts",
  );
  expect(shown?.text).toBe(`// run-command.ts\n${readFileSync(EXAMPLE, "utf8")}`);
});
