import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCode, errorText, LocalError } from "../../local/local-error.ts";
import { signalProcess } from "../../local/processes/processes.ts";
import { createTeardown } from "../../local/teardown.ts";

const USAGE_ERROR = 2;
/** LocalStack hangs if SIGTERM reaches it while it starts. ms. */
const ENDS_WITHIN = 60_000;
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export type Program = {
  /** The program's name in lines of progress, in errors, and in the name of its log file. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** @default this process's */
  readonly cwd?: string;
  readonly shown?: boolean;
  readonly advice?: string;
};

export type Server = {
  /** Rejects when the server ends by itself. The error has the line of its log that says most. */
  readonly ended: Promise<never>;
  readonly stop: () => Promise<void>;
};

/** One run of a deployment test: a folder for its files, and its processes, all of which end with it. */
export type Session = {
  readonly folder: string;
  readonly progress: (line: string) => void;
  /** Runs a program to its end. If its exit code is not 0, throws `LocalError` with the line of its log that says most. */
  readonly run: (program: Program) => Promise<void>;
  readonly serve: (program: Program) => Server;
  /** Does `step` when the session ends, also after an error or a signal. Programs and steps that were added later end first. */
  readonly atEnd: (step: () => Promise<void>) => void;
};

/**
 * Exits: 0 when done, 1 for an error, 2 for wrong arguments, 128 + n for a signal. First ends every process that the session has started.
 * After an error it keeps the session's folder.
 */
export async function runSession<Options>(
  name: string,
  readOptions: (args: readonly string[]) => Options | undefined,
  work: (session: Session, options: Options) => Promise<void>,
): Promise<never> {
  const options = optionsOrExit(name, readOptions);
  const { session, close } = openSession(name);
  const closed = (): Promise<boolean> => isClean(name, close);
  const endBySignal = exitOnSignals(session, closed);
  try {
    await work(session, options);
  } catch (error) {
    // After a signal, the work fails because its programs were ended. That is no error, and the signal's handler exits.
    await endBySignal();
    await closed();
    const known = error instanceof LocalError || !(error instanceof Error);
    console.error(`${name}: ${known ? errorText(error) : error.stack}`);
    if (readdirSync(session.folder).length > 0)
      console.error(`${name}: logs of this run are in ${session.folder}`);
    else rmdirSync(session.folder);
    process.exit(1);
  }
  if (!(await closed())) process.exit(1);
  rmSync(session.folder, { recursive: true, force: true });
  session.progress("done");
  process.exit(0);
}

function optionsOrExit<Options>(
  name: string,
  readOptions: (args: readonly string[]) => Options | undefined,
): Options {
  let options: Options | undefined;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${name}: ${errorText(error)}`);
    process.exit(USAGE_ERROR);
  }
  if (options === undefined) process.exit(0);
  return options;
}

/** Closes a session. Answers whether it was closed without an error, which is printed. */
function isClean(name: string, close: () => Promise<void>): Promise<boolean> {
  return close().then(
    () => true,
    (error: unknown) => {
      console.error(`${name}: ${errorText(error)}`);
      return false;
    },
  );
}

/** Closes the session and exits after a signal. Answers a function that waits for this, if there was a signal. */
function exitOnSignals(session: Session, closed: () => Promise<boolean>): () => Promise<void> {
  let interrupted: Promise<never> | undefined;
  for (const [signal, code] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      session.progress(`${signal}: ending all programs and cleaning up`);
      interrupted ??= closed().then((isClean) => {
        if (isClean) rmSync(session.folder, { recursive: true, force: true });
        process.exit(isClean ? code : 1);
      });
    });
  }
  return async () => {
    await interrupted;
  };
}

export function openSession(name: string): { session: Session; close: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), `minutehand-${name.replaceAll(":", "-")}-`));
  const began = Date.now();
  const teardown = createTeardown();
  const launchHere = (program: Program): Launched => {
    const launched = launch(program, join(folder, `${program.name.replaceAll(" ", "-")}.log`));
    teardown.add(() => end(launched.child));
    return launched;
  };
  const session: Session = {
    folder,
    progress: (line) =>
      console.error(`${name} ${((Date.now() - began) / 1000).toFixed(0).padStart(4)} s: ${line}`),
    run: async (program) => {
      const failure = await launchHere(program).ended;
      if (failure !== undefined) throw new LocalError(failure);
    },
    serve: (program) => {
      const { child, ended } = launchHere(program);
      const failed = ended.then((failure) => {
        throw new LocalError(failure ?? `${program.name} ended with 0`);
      });
      // Callers race `ended` against what they wait for. When no caller waits, a rejection must not end this process.
      failed.catch(() => {});
      return { ended: failed, stop: () => end(child) };
    },
    atEnd: teardown.add,
  };
  return { session, close: teardown.run };
}

/** `ended` resolves with what was wrong, if anything was. */
type Launched = { readonly child: ChildProcess; readonly ended: Promise<string | undefined> };

function launch(program: Program, logPath: string): Launched {
  const { name, command, args, cwd, env = process.env, shown = false, advice = "" } = program;
  const file = shown ? undefined : openSync(logPath, "a");
  // `detached`: the program has its own process group, so the child processes that it leaves behind can be ended too.
  const stdio = ["ignore", file ?? "inherit", file ?? "inherit"] as const;
  const child = spawn(command, [...args], { cwd, env, stdio: [...stdio], detached: true });
  if (file !== undefined) closeSync(file);
  const ended = new Promise<string | undefined>((resolve) => {
    child.once("error", (error) =>
      resolve(errorCode(error) === "ENOENT" ? `there is no ${command}. ${advice}`.trim() : errorText(error)),
    );
    child.once("exit", (code, signal) => {
      // End the rest of the group at once, because the system may give the group's id to other processes later.
      if (child.pid !== undefined) signalProcess(-child.pid, "SIGKILL");
      const words = shown ? "" : lastWords(logPath);
      resolve(code === 0 ? undefined : `${name} ended with ${signal ?? code}${words && `: ${words}`}`);
    });
  });
  return { child, ended };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), ENDS_WITHIN);
  await gone;
  clearTimeout(timer);
}

/** The line of a program's log that says most: the last with a word such as `error`, else the last. */
function lastWords(path: string): string {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return lines.findLast((line) => /\b(error|failed|missing|needs|❌)/i.test(line)) ?? lines.at(-1) ?? "";
}
