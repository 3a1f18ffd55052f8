import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants, setPriority } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { eachLine } from "../functions/each-line.ts";
import type { Guard } from "../processes/guard.ts";
import { DETACHED, killTree } from "../processes/processes.ts";

const ERROR = /^(.+)\((\d+),(\d+)\): error (TS\d+): (.*)$/;
/** A changed type may break many files. */
const MOST_LINES = 10;

export type TypeCheck = {
  /** Ends a check that is under way, and begins a new one. Resolves when the new one has ended. */
  readonly start: () => Promise<void>;
  readonly cancel: () => void;
};

type Options = {
  readonly root: string;
  readonly guard: Guard;
  /** Whether a function or the app contains the file. Errors of other files, such as tests, are not logged. */
  readonly isInput: (path: string) => boolean;
  readonly log: (line: string) => void;
};

/** Checks types with the app's own TypeScript. Answers `undefined` if the app has none, or no `tsconfig.json`. */
export function createTypeCheck({ root, guard, isInput, log }: Options): TypeCheck | undefined {
  const compiler = compilerOf(root);
  if (compiler === undefined || !existsSync(join(root, "tsconfig.json"))) return undefined;
  let known: readonly string[] = [];
  let running: ChildProcess | undefined;
  const cancel = () => {
    if (running?.pid !== undefined) killTree(running.pid);
    running = undefined;
  };
  return {
    start: async () => {
      cancel();
      log("checking types …");
      const child = runCompiler(compiler, root);
      running = child;
      guard.watchGroup(child);
      const errors: { path: string; text: string }[] = [];
      eachLine(child.stdout, (line) => errors.push(...errorsOf(line, root)));
      const code = await new Promise((resolve) => child.once("close", resolve).once("error", resolve));
      if (running !== child) return;
      running = undefined;
      // The compiler itself has failed, for example because of its settings.
      if (code !== 0 && errors.length === 0) return;
      const found = errors.filter(({ path }) => isInput(path)).map(({ text }) => text);
      logErrors(found, known, log);
      known = found;
    },
    cancel,
  };
}

function compilerOf(root: string): string | undefined {
  try {
    return join(
      dirname(createRequire(join(root, "app.js")).resolve("typescript/package.json")),
      "bin",
      "tsc",
    );
  } catch {
    return undefined;
  }
}

function runCompiler(compiler: string, root: string) {
  const settings = ["--noEmit", "--pretty", "false", "--locale", "en", "--incremental"];
  const file = join(root, ".minutehand", "types.tsbuildinfo");
  const child = spawn(process.execPath, [compiler, ...settings, "--tsBuildInfoFile", file], {
    cwd: root,
    // The compiler may start a process of its own, so both get a process group.
    ...DETACHED,
    stdio: ["ignore", "pipe", "ignore"],
  });
  // The functions come first.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return child;
}

/** Reads a line of the compiler, `mail.ts(3,7): error TS2339: …`. */
function errorsOf(line: string, root: string): { path: string; text: string }[] {
  const [found, file = "", row, column, code, text] = ERROR.exec(line) ?? [];
  if (found === undefined) return [];
  const path = resolve(root, file);
  return [{ path, text: `${relative(root, path)}:${row}:${column}: ${text} (${code})` }];
}

function logErrors(found: readonly string[], known: readonly string[], log: (line: string) => void): void {
  const news = found.filter((text) => !known.includes(text));
  for (const text of news.slice(0, MOST_LINES)) log(`type error: ${text}`);
  if (news.length > MOST_LINES) log(`and ${news.length - MOST_LINES} more type errors`);
  if (news.length === 0) log(found.length === 0 ? "no type errors" : "no new type errors");
}
