import { createHash } from "node:crypto";
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "./local-error.ts";

/** Not what an app is made of, but what is made of it; and folders whose names begin with a dot. */
const MADE = new Set(["node_modules", "cdk.out", "dist"]);

/** A folder that an app may be made of. */
export type Sources = {
  readonly root: string;
  /** Paths in it that the runner itself writes. */
  readonly excluded?: ReadonlySet<string>;
  /** Called each time that something in it may not be read. */
  readonly onUnreadable?: (path: string) => void;
};

/** Whether an app may be made of a file of this path. A log may be what a runner's own lines go to. */
export function isInput({ excluded }: Sources, path: string): boolean {
  return !path.endsWith(".log") && !excluded?.has(path);
}

/** A hash of the files that an app may be made of, as hex. Contents count, times do not. */
export function hashFolder(sources: Sources): string {
  const hash = createHash("sha256").update(process.version);
  for (const folder of foldersIn(sources)) {
    for (const entry of entriesOf(sources, folder) ?? []) {
      const path = join(folder, entry.name);
      if (!entry.isFile() || !isInput(sources, path)) continue;
      const content = ifReadable(sources, path, () => readFileSync(path));
      if (content) hash.update(`\n${path.slice(sources.root.length)} ${content.length}\n`).update(content);
    }
  }
  return hash.digest("hex").slice(0, 32);
}

/** The folder and those in it whose files an app may be made of; links are not followed. */
export function foldersIn(sources: Sources, folder = sources.root): string[] {
  const entries = entriesOf(sources, folder);
  if (entries === undefined) return [];
  const inner = entries
    .filter((entry) => entry.isDirectory() && !MADE.has(entry.name) && !entry.name.startsWith("."))
    .map(({ name }) => join(folder, name))
    .filter((path) => !sources.excluded?.has(path));
  return [folder, ...inner.flatMap((path) => foldersIn(sources, path))];
}

function entriesOf(sources: Sources, folder: string): Dirent[] | undefined {
  const entries = ifReadable(sources, folder, () => readdirSync(folder, { withFileTypes: true }));
  return entries?.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Editors write files that are gone a moment later, and containers leave folders that are root's. */
function ifReadable<T>({ onUnreadable }: Sources, path: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = errorCode(error);
    if (code === "EACCES" || code === "EPERM") onUnreadable?.(path);
    else if (code !== "ENOENT") throw error;
    return undefined;
  }
}
