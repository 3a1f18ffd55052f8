import { createHash } from "node:crypto";
import { type Dirent, readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorCode } from "../local-error.ts";

/** Packages and build output are not part of the app. Folders whose names begin with a dot are not either. */
const OUTPUT_FOLDERS = new Set(["node_modules", "cdk.out", "dist"]);

/** Files that editors and operating systems write beside the files that they save. */
const DRAFT = /(?:~|\.sw[a-z]|\.tmp)$|^\.#|^4913$|^\.DS_Store$/;

/** The folder of a CDK project. Its files are the app, except build output, hidden folders, `*.log`, drafts of editors and `excluded`. */
export type AppFolder = {
  readonly root: string;
  /** Paths in the folder that the runner itself writes, so they are no part of the app. */
  readonly excluded?: ReadonlySet<string> | undefined;
  /** Called each time that a file or folder cannot be read for lack of permission. The app is then read without it. */
  readonly onUnreadable?: (path: string) => void;
};

export function openAppFolder(
  root: string,
  excluded: ReadonlySet<string> | undefined,
  log: (line: string) => void,
): AppFolder {
  const logged = new Set<string>();
  return {
    root,
    excluded,
    onUnreadable: (path) => {
      if (!logged.has(path)) log(`${path} cannot be read, so it is not part of the app`);
      logged.add(path);
    },
  };
}

/** Hashes paths, contents and the version of Node. Times do not count, so a save without a change gives the same hash. */
export function hashFolder(app: AppFolder): string {
  const hash = createHash("sha256").update(process.version);
  for (const path of appFolders(app).flatMap((folder) => filesIn(app, folder))) {
    const content = readPart(app, path);
    if (content) hash.update(`\n${path.slice(app.root.length)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 32);
}

export function filesIn(app: AppFolder, folder: string): string[] {
  return (entriesOf(app, folder) ?? [])
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(folder, name))
    .filter((path) => isPartOfApp(app, path));
}

export function readPart(app: AppFolder, path: string): Buffer | undefined {
  return ifReadable(app, path, () => readFileSync(path));
}

export function hashPart(app: AppFolder, path: string): string | undefined {
  const content = readPart(app, path);
  return content && createHash("sha256").update(content).digest("base64");
}

export function statPart(app: AppFolder, path: string): Stats | undefined {
  return ifReadable(app, path, () => statSync(path, { throwIfNoEntry: false }));
}

/** `ctime` in whole ms: a tool that puts an old file back may also put back its time of modification. `undefined` if unreadable. */
export function changeTime(app: AppFolder, path: string): number | undefined {
  const stat = statPart(app, path);
  return stat && Math.trunc(stat.ctimeMs);
}

/** Lists the root and every folder below it, except build output, hidden folders and `excluded`. Symbolic links are not followed. */
export function appFolders(app: AppFolder, folder = app.root): string[] {
  const entries = entriesOf(app, folder);
  if (entries === undefined) return [];
  const inner = entries
    .filter((entry) => entry.isDirectory() && !OUTPUT_FOLDERS.has(entry.name) && !entry.name.startsWith("."))
    .map(({ name }) => join(folder, name))
    .filter((path) => !app.excluded?.has(path));
  return [folder, ...inner.flatMap((path) => appFolders(app, path))];
}

/** A log does not belong to the app. Otherwise, if the runner's output goes to a file in the folder, each line would be a save. */
export function isPartOfApp({ excluded }: AppFolder, path: string): boolean {
  return !path.endsWith(".log") && !DRAFT.test(basename(path)) && !excluded?.has(path);
}

function entriesOf(app: AppFolder, folder: string): Dirent[] | undefined {
  const entries = ifReadable(app, folder, () => readdirSync(folder, { withFileTypes: true }));
  return entries?.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Answers `undefined` for an unreadable path: editors delete temporary files, and containers leave folders that only root can read. */
function ifReadable<T>({ onUnreadable }: AppFolder, path: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const code = errorCode(error);
    if (code === "EACCES" || code === "EPERM") onUnreadable?.(path);
    else if (code !== "ENOENT") throw error;
    return undefined;
  }
}
