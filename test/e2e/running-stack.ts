import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS } from "../patience.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const LOOK_EVERY_MS = 20;

/** A local stack as `npm run local` starts it for a user: a process of its own, and the processes that it starts. */
export type RunningStack = {
  url: string;
  pid: number;
  output: () => string;
  kill: (signal: NodeJS.Signals) => Promise<void>;
};

export function freshDataDir(): string {
  return mkdtempSync(join(tmpdir(), "minutehand-e2e-"));
}

export function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true });
}

/** The path of the file in the data folder to which a stack's output goes. Each start of the stack empties the file. */
export function outputFile(dataDir: string): string {
  return join(dataDir, "output.log");
}

/** Starts a local stack on a port, or on a free port for 0, with more options of `minutehand local`. Resolves when the stack is up. */
export async function startStack(
  dataDir: string,
  port = 0,
  options: readonly string[] = [],
): Promise<RunningStack> {
  const file = outputFile(dataDir);
  // The output goes to a file and not to a pipe. A full pipe would stop the stack, and tests in other processes can read a file.
  const log = openSync(file, "w");
  const child = spawn(
    process.execPath,
    [
      ...["src/cli/main.ts", "local", "--no-watch", "--port", String(port), "--data", dataDir],
      ...databaseFlag(process.env),
      ...options,
    ],
    { cwd: ROOT, stdio: ["ignore", log, log] },
  );
  closeSync(log);
  const output = () => readFileSync(file, "utf8");
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const url = /is up at (http:\/\/\S+)/.exec(output())?.[1];
    if (url !== undefined)
      return { url, pid: child.pid ?? -1, output, kill: (signal) => endChild(child, signal) };
    if (hasEnded(child)) throw new Error(`the local stack ended with ${child.exitCode}:\n${output()}`);
    if (Date.now() > end) throw new Error(`the local stack did not come up:\n${output()}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** `MINUTEHAND_E2E_DATABASE`: `native` or `portable`, by default what the runner chooses. */
function databaseFlag({ MINUTEHAND_E2E_DATABASE }: NodeJS.ProcessEnv): string[] {
  return MINUTEHAND_E2E_DATABASE ? ["--database", MINUTEHAND_E2E_DATABASE] : [];
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}
