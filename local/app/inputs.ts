import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../local-error.ts";

/** `hash` identifies a file's content, and each save changes `mark`. Both are empty while the content must be read again. */
type Seen = { readonly mark: string; readonly hash: string };

export type Look = {
  readonly changed: readonly string[];
  /** Saved with the same content. */
  readonly touched: readonly string[];
};

/** The files that the running stack is made of, and their contents when they were last looked at. */
export type Inputs = {
  /** Replaces the list of files. `since`: when the build of the new ones began, ms. If one was saved later, the next look answers it. */
  readonly follow: (paths: Iterable<string>, since: number) => void;
  /** Answers how files have changed since the last look. A path may name no file yet. */
  readonly look: () => Look;
  readonly has: (path: string) => boolean;
  /** The folders in which files of the list lie, or would appear. */
  readonly folders: () => Set<string>;
};

/** Linux takes the time of a change from the last tick of its clock, up to 10 ms before. */
const CLOCK_TICK_MS = 10;
const UNREADABLE = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM"]);
const MISSING = { mark: "missing", hash: "missing" };
const UNKNOWN = { mark: "", hash: "" };

export function createInputs(): Inputs {
  let seen = new Map<string, Seen>();
  return {
    follow: (paths, since) => {
      seen = new Map([...paths].map((path) => [path, seen.get(path) ?? lookAt(path, UNKNOWN, since)]));
    },
    look: () => {
      const found = [...seen].map(([path, before]) => ({ path, before, now: lookAt(path, before) }));
      for (const { path, now } of found) seen.set(path, now);
      const saved = found.filter(({ before, now }) => now.mark !== before.mark);
      const pathsOf = (isSame: boolean) =>
        saved.filter(({ before, now }) => (now.hash === before.hash) === isSame).map(({ path }) => path);
      return { changed: pathsOf(false), touched: pathsOf(true) };
    },
    has: (path) => seen.has(path),
    folders: () => new Set([...seen.keys()].map((path) => nearestExisting(dirname(path)))),
  };
}

/** A file that was saved after `since` is unknown: a build that began then may have read the earlier content. */
function lookAt(path: string, before: Seen, since = Number.POSITIVE_INFINITY): Seen {
  try {
    // A tool that puts an old file back may put back its time of modification too, but not `ctime`.
    const { ctimeMs, size, ino } = statSync(path);
    const mark = [ctimeMs, size, ino].join(" ");
    if (mark === before.mark) return before;
    if (ctimeMs >= since - CLOCK_TICK_MS) return UNKNOWN;
    return { mark, hash: createHash("sha256").update(readFileSync(path)).digest("base64") };
  } catch (error) {
    // A file that may not be read counts as missing.
    if (!UNREADABLE.has(errorCode(error) ?? "")) throw error;
    return MISSING;
  }
}

function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(dirname(folder));
}
