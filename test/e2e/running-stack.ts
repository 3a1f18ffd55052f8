import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const READY_MS = 90_000;

/** `npm run local` as a user has it: a process of its own, with all it starts. */
export type RunningStack = {
  url: string;
  pid: number;
  /** Everything it has printed so far. */
  output: () => string;
  kill: (signal: NodeJS.Signals) => Promise<void>;
};

/** A data folder that no other run has. */
export function freshDataDir(): string {
  return mkdtempSync(join(tmpdir(), "minutehand-e2e-"));
}

export function removeDataDir(dataDir: string): void {
  rmSync(dataDir, { recursive: true, force: true });
}

/** Starts the local stack on a port of its own choice; what it prints also goes to `logFile`. */
export async function startStack(dataDir: string, logFile?: string): Promise<RunningStack> {
  if (logFile) writeFileSync(logFile, "");
  const child = spawn(
    process.execPath,
    ["cli/main.ts", "local", "--no-watch", "--port", "0", "--data", dataDir],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      output += chunk;
      if (logFile) appendFileSync(logFile, chunk);
      const found = /is up at (http:\/\/\S+)/.exec(output);
      if (found?.[1]) resolve(found[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", (code) => reject(new Error(`the local stack ended with ${code}:\n${output}`)));
    setTimeout(() => reject(new Error(`the local stack was not up in time:\n${output}`)), READY_MS).unref();
  });
  return { url, pid: child.pid ?? -1, output: () => output, kill: (signal) => end(child, signal) };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}
