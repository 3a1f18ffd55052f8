import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { errorCode } from "../local-error.ts";
import { makePrivateFolder } from "../private-files.ts";
import { isProcessRunning } from "../processes/processes.ts";

/** One hour: within that time an undo, or the start of another runner, may need the assembly again. */
const UNUSED_AFTER_MS = 3_600_000;
const HOLDER = /^holder\.(\d+)\.\d+\.json$/;

export type AssemblyHolder = {
  /** Holds the assemblies that contain these folders, and releases all others. */
  readonly hold: (codeDirs: readonly string[]) => void;
  readonly release: () => void;
};

/** The runners of one project share its cache. A runner's file lists the assemblies it holds, and counts while its process lives. */
export function createAssemblyHolder(cacheDir: string, pid: number): AssemblyHolder {
  // An assembly has the code and the settings of the app.
  makePrivateFolder(cacheDir);
  const file = join(cacheDir, `holder.${pid}.${process.hrtime.bigint()}.json`);
  let held: readonly string[] = [];
  return {
    hold: (codeDirs) => {
      const now = new Set(codeDirs.map((path) => relative(cacheDir, path).split(sep)[0] ?? ""));
      writeFileSync(file, JSON.stringify([...now]));
      // An invocation may still run from an assembly that is released now, so keep this assembly for another hour.
      for (const name of new Set([...held, ...now])) markUsed(join(cacheDir, name));
      held = [...now];
    },
    release: () => rmSync(file, { force: true }),
  };
}

export function markUsed(assembly: string): void {
  const now = new Date();
  if (existsSync(assembly)) utimesSync(assembly, now, now);
}

/** Deletes the assemblies that no runner holds and that were last used more than an hour before `now` (ms since the epoch). */
export function dropUnusedAssemblies(cacheDir: string, now: number): void {
  const names = readdirSync(cacheDir);
  const lists = names.map((name) => heldBy(cacheDir, name));
  // An unreadable list may name any assembly, so nothing is deleted this time.
  if (lists.includes(undefined)) return;
  const held = new Set(lists.flat());
  for (const name of names) {
    const path = join(cacheDir, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat?.isDirectory() || held.has(name) || now - stat.mtimeMs <= UNUSED_AFTER_MS) continue;
    removeUnlessInUse(path);
  }
}

/** Windows deletes no folder in which a process still works. One of the next starts deletes it. */
function removeUnlessInUse(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (!["EBUSY", "EPERM", "ENOTEMPTY"].includes(errorCode(error) ?? "")) throw error;
  }
}

/** `undefined` if the list cannot be read now. Removes the file of a dead runner. */
function heldBy(cacheDir: string, name: string): string[] | undefined {
  const [, pid] = HOLDER.exec(name) ?? [];
  if (pid === undefined) return [];
  const path = join(cacheDir, name);
  if (!isProcessRunning(Number(pid))) {
    rmSync(path, { force: true });
    return [];
  }
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // The other runner is writing the file, or has just removed it.
    return undefined;
  }
}
