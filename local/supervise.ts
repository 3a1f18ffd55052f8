import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Guard } from "./guard.ts";
import { errorText, LocalError } from "./local-error.ts";

const MAX_STARTS_IN_A_ROW = 5;
const STEADY_AFTER_MS = 10_000;
const START_LIMIT_MS = 10_000;
const STOP_LIMIT_MS = 1_500;

export type SupervisedProgram = {
  readonly name: string;
  /** Where it keeps its data, if it does. */
  readonly data: string | undefined;
  /** Starts it, with stderr as a pipe. Called again, with the same port and data, when it died. */
  readonly spawn: () => ChildProcess;
  /** Resolves when the child serves. */
  readonly ready: (child: ChildProcess, signal: AbortSignal) => Promise<void>;
};

export type Supervisor = { readonly pid: () => number | undefined; readonly stop: () => Promise<void> };

type Surroundings = {
  readonly guard: Guard;
  readonly log: (line: string) => void;
  /** It died and was started again, with another process id. */
  readonly onRestart: () => void;
  /** The process died after each restart. */
  readonly onLost: (error: LocalError) => void;
};

/** Starts a program and keeps it running. Throws `LocalError` with its own last words if it does not start. */
export async function supervise(
  program: SupervisedProgram,
  { guard, log, onRestart, onLost }: Surroundings,
): Promise<Supervisor> {
  let stopping = false;
  let failures = 0;
  let child = await start();

  async function start(): Promise<ChildProcess> {
    const began = Date.now();
    const started = program.spawn();
    guard.watch(started);
    const lastWords = collectStderr(started);
    const exited = new Promise<string>((resolve) => {
      started.once("error", (error) => resolve(errorText(error)));
      started.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
    });
    const starting = new AbortController();
    const outcome = await Promise.race([
      program.ready(started, starting.signal).then(() => undefined),
      exited.then((how) => lastWords() || `it ended with ${how}`),
      sleep(START_LIMIT_MS, `it does not answer after ${START_LIMIT_MS / 1000} s`, {
        signal: starting.signal,
        ref: false,
      }).catch(() => "aborted"),
    ]);
    starting.abort();
    if (outcome !== undefined) {
      started.kill("SIGKILL");
      throw new LocalError(`${program.name} did not start: ${outcome}${adviceFor(program, outcome)}`);
    }
    void exited.then((how) => {
      if (Date.now() - began > STEADY_AFTER_MS) failures = 0;
      if (!stopping) void restart(how);
    });
    return started;
  }

  async function restart(how: string): Promise<void> {
    log(`${program.name} ended (${how}); starting it again with the same data`);
    while (!stopping) {
      failures += 1;
      try {
        child = await start();
        if (stopping) child.kill("SIGTERM");
        else onRestart();
        return;
      } catch (error) {
        if (failures >= MAX_STARTS_IN_A_ROW) return onLost(new LocalError(errorText(error)));
        await sleep(100 * failures);
      }
    }
  }

  return {
    pid: () => child.pid,
    stop: async () => {
      stopping = true;
      await endChild(child);
    },
  };
}

function adviceFor({ data }: SupervisedProgram, outcome: string): string {
  if (/disk is full/i.test(outcome)) return "";
  const isAboutData = data !== undefined && /database|sqlite|malformed/i.test(outcome);
  return isAboutData ? ` (the data in ${data} is broken; --reset drops all data)` : "";
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await exited;
  clearTimeout(timer);
}

/** Keeps the last line of what a program says before it ends. */
function collectStderr(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.on("data", (data: Buffer) => {
    tail = (tail + data.toString()).slice(-4096);
  });
  return () => {
    const lines = tail.split("\n").map((line) => line.trim());
    const telling = lines.find((line) => /error/i.test(line)) ?? lines.findLast((line) => line !== "");
    // The first sentence; dynoxide goes on about its build options.
    return telling?.replace(/^(uncaught )?error: /i, "").replace(/\. .*/, "") ?? "";
  };
}
