import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { errorText, LocalError } from "../local-error.ts";
import type { Guard } from "./guard.ts";

/** After this many restarts without a steady run, another start would most likely fail too. */
const MAX_FAILURES = 5;
/** If a program has run for longer than this when it ends, its earlier failures no longer count. */
const STEADY_AFTER_MS = 10_000;
/** Only ends the wait for a program that hangs: a very busy machine may need a minute to start a program. */
const START_LIMIT_MS = 5 * 60_000;
const STOP_LIMIT_MS = 1_500;
const ANSWER_LIMIT_MS = 5_000;

export type SupervisedProgram = {
  readonly name: string;
  /** The file or folder with the program's data. */
  readonly data: string | undefined;
  /** Starts the program with stderr as a pipe. Called again, with the same port and data, after the program has died. */
  readonly spawn: () => ChildProcess;
  /** Resolves when the child answers requests. Every message of the child but "ready" is a line for the log. */
  readonly ready: (child: ChildProcess, signal: AbortSignal) => Promise<void>;
};

export type Supervisor = {
  readonly pid: () => number | undefined;
  /** Sends the child a message, and resolves with its next message that is no line. `undefined`: it has ended or is silent. */
  readonly ask: (message: object) => Promise<unknown>;
  readonly stop: () => Promise<void>;
};

type Dependencies = {
  readonly guard: Guard;
  readonly log: (line: string) => void;
  /** Called after the program died and was started again with another process id. */
  readonly onRestart: () => void;
  readonly onLost: (error: LocalError) => void;
};

type Supervised = Dependencies & {
  readonly program: SupervisedProgram;
  child: ChildProcess | undefined;
  stopping: boolean;
  failures: number;
};

/** Restarts the program up to five times without a steady run. Throws `LocalError`, with its error output, if the first start fails. */
export async function supervise(program: SupervisedProgram, dependencies: Dependencies): Promise<Supervisor> {
  const supervised: Supervised = { ...dependencies, program, child: undefined, stopping: false, failures: 0 };
  supervised.child = await start(supervised);
  return {
    pid: () => supervised.child?.pid,
    ask: (message) => ask(supervised.child, message),
    stop: async () => {
      supervised.stopping = true;
      if (supervised.child) await endChild(supervised.child);
    },
  };
}

async function ask(child: ChildProcess | undefined, message: object): Promise<unknown> {
  if (!child?.connected) return undefined;
  const { promise: answered, resolve } = Promise.withResolvers<unknown>();
  const onMessage = (answer: unknown) => typeof answer === "object" && resolve(answer);
  child.on("message", onMessage);
  child.once("exit", resolve);
  child.send(message, () => {});
  const answer = await Promise.race([answered, sleep(ANSWER_LIMIT_MS, undefined, { ref: false })]);
  child.off("message", onMessage);
  child.off("exit", resolve);
  return typeof answer === "object" ? answer : undefined;
}

async function start(supervised: Supervised): Promise<ChildProcess> {
  const { program, guard, log } = supervised;
  const began = Date.now();
  const started = program.spawn();
  guard.watch(started);
  started.on("message", (line) => {
    if (typeof line === "string" && line !== "ready") log(`${program.name}: ${line}`);
  });
  const exited = new Promise<string>((resolve) => {
    started.once("error", (error) => resolve(errorText(error)));
    started.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
  });
  const failure = await waitUntilReady(program, started, exited);
  if (failure !== undefined) {
    started.kill("SIGKILL");
    throw new LocalError(`${program.name} did not start: ${failure}${adviceFor(program, failure)}`);
  }
  void exited.then((how) => {
    if (Date.now() - began > STEADY_AFTER_MS) supervised.failures = 0;
    if (!supervised.stopping) void restart(supervised, how);
  });
  return started;
}

/** Answers why a program does not become ready; `undefined` once it is. */
async function waitUntilReady(
  program: SupervisedProgram,
  started: ChildProcess,
  exited: Promise<string>,
): Promise<string | undefined> {
  const errorOutput = collectStderr(started);
  const starting = new AbortController();
  const failure = await Promise.race([
    program.ready(started, starting.signal).then(() => undefined),
    exited.then((how) => errorOutput() || `it ended with ${how}`),
    sleep(START_LIMIT_MS, `it does not answer after ${START_LIMIT_MS / 1000} s`, {
      signal: starting.signal,
      ref: false,
    }).catch(() => "aborted"),
  ]);
  starting.abort();
  return failure;
}

async function restart(supervised: Supervised, how: string): Promise<void> {
  const { program, log, onRestart, onLost } = supervised;
  if (supervised.failures >= MAX_FAILURES)
    return onLost(
      new LocalError(`${program.name} ended (${how}), as it did at its last ${supervised.failures} starts`),
    );
  log(`${program.name} ended (${how}); starting it again with the same data`);
  while (!supervised.stopping) {
    supervised.failures += 1;
    try {
      const child = await start(supervised);
      supervised.child = child;
      if (supervised.stopping) child.kill("SIGTERM");
      else onRestart();
      return;
    } catch (error) {
      if (supervised.failures >= MAX_FAILURES) return onLost(new LocalError(errorText(error)));
      await sleep(100 * supervised.failures);
    }
  }
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

/** Collects a program's error output. Answers its first line about an error, else its last line. */
function collectStderr(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.on("data", (data: Buffer) => {
    tail = (tail + data.toString()).slice(-4096);
  });
  return () => {
    const lines = tail.split("\n").map((line) => line.trim());
    const telling = lines.find((line) => /error/i.test(line)) ?? lines.findLast((line) => line !== "");
    // Only the first sentence: dynoxide continues with its build options.
    return telling?.replace(/^(uncaught )?error: /i, "").replace(/\. .*/, "") ?? "";
  };
}
