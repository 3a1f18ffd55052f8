import { createHash } from "node:crypto";
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "./local-error.ts";

/** Not what an app is made of, but what is made of it; and folders whose names begin with a dot. */
const MADE = new Set(["node_modules", "cdk.out", "dist"]);

/** Whether an app may be made of a file of this name. A log may be what a runner's own lines go to. */
export function isInput(name: string): boolean {
  return !name.endsWith(".log");
}

/** A hash of the files of a folder that an app may be made of, as hex. Contents count, times do not. */
export function hashFolder(root: string): string {
  const hash = createHash("sha256").update(process.version);
  for (const folder of foldersIn(root)) {
    for (const entry of entriesOf(folder)) {
      if (!entry.isFile() || !isInput(entry.name)) continue;
      const path = join(folder, entry.name);
      const content = unlessGone(() => readFileSync(path));
      if (content) hash.update(`\n${path.slice(root.length)} ${content.length}\n`).update(content);
    }
  }
  return hash.digest("hex").slice(0, 32);
}

/** The folder and those in it whose files an app may be made of; links are not followed. */
export function foldersIn(root: string): string[] {
  const inner = entriesOf(root).filter(
    (entry) => entry.isDirectory() && !MADE.has(entry.name) && !entry.name.startsWith("."),
  );
  return [root, ...inner.flatMap(({ name }) => foldersIn(join(root, name)))];
}

function entriesOf(folder: string): Dirent[] {
  const entries = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Editors write files that are gone a moment later. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
