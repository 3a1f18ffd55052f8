import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, relative, sep } from "node:path";
import { commandOf } from "./processes.ts";

/** Until then an undo, or the start of another runner, may find it again. */
const UNUSED_AFTER_MS = 3_600_000;
const HOLDER = /^holder\.(\d+)\.\d+\.json$/;

/** What one runner takes from a cache of assemblies. */
export type AssemblyHolder = {
  /** Its functions run from these folders, which are in assemblies of the cache, and from no others. */
  readonly hold: (codeDirs: readonly string[]) => void;
  readonly release: () => void;
};

/** Runners of one project share its cache: each leaves word of what none may drop while its process lives. */
export function createAssemblyHolder(cacheDir: string, pid: number): AssemblyHolder {
  mkdirSync(cacheDir, { recursive: true });
  const file = join(cacheDir, `holder.${pid}.${process.hrtime.bigint()}.json`);
  let held: readonly string[] = [];
  return {
    hold: (codeDirs) => {
      const now = new Set(codeDirs.map((path) => relative(cacheDir, path).split(sep)[0] ?? ""));
      writeFileSync(file, JSON.stringify([...now]));
      // An invocation may still run from what is left now.
      for (const name of new Set([...held, ...now])) markUsed(join(cacheDir, name));
      held = [...now];
    },
    release: () => rmSync(file, { force: true }),
  };
}

/** Counts as used now. */
export function markUsed(assembly: string): void {
  const now = new Date();
  if (existsSync(assembly)) utimesSync(assembly, now, now);
}

/** Drops the assemblies that no runner holds and none has used for an hour. */
export function dropUnusedAssemblies(cacheDir: string, now: number): void {
  const names = readdirSync(cacheDir);
  const lists = names.map((name) => heldBy(cacheDir, name));
  // The next pass knows more.
  if (lists.includes(undefined)) return;
  const held = new Set(lists.flat());
  for (const name of names) {
    const path = join(cacheDir, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat?.isDirectory() || held.has(name) || now - stat.mtimeMs <= UNUSED_AFTER_MS) continue;
    rmSync(path, { recursive: true, force: true });
  }
}

/** The assemblies that a holder's file names; `undefined`: it cannot be told now. */
function heldBy(cacheDir: string, name: string): string[] | undefined {
  const [, pid] = HOLDER.exec(name) ?? [];
  if (pid === undefined) return [];
  const path = join(cacheDir, name);
  if (commandOf(Number(pid)) === "") {
    rmSync(path, { force: true });
    return [];
  }
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Half-written, or gone with its runner.
    return undefined;
  }
}
