import { existsSync } from "node:fs";
import { dirname, sep } from "node:path";
import { type AppFolder, appFolders, filesIn, hashPart, statPart } from "./app-folder.ts";

/** The files that a running stack is made of, and their contents when they were last looked at. */
export type SavedFiles = {
  /** Answers how files have changed since the last call, by their paths. A file is left out if its content is the same. */
  readonly changes: () => Map<string, Change>;
  /** Their present files do not count as new. A path may name no file yet, and its folder may be missing. */
  readonly addInputs: (paths: Iterable<string>) => void;
  readonly folders: () => string[];
  readonly has: (path: string) => boolean;
};

export type Change = "saved" | "new" | "gone";

/** `hash` identifies a file's content. Each save changes `mark`, so a file with the same `mark` is not read again. */
type Seen = { readonly mark: string; readonly hash: string };

type State = {
  readonly app: AppFolder;
  readonly isOwnLog: (path: string) => boolean;
  readonly seen: Map<string, Seen>;
  readonly inputs: Set<string>;
  readonly logs: Set<string>;
};

/** Looks at the app's folder and at the folders of the handlers' inputs. A changed file for which `isOwnLog` holds is ignored. */
export function createSavedFiles(app: AppFolder, isOwnLog: (path: string) => boolean): SavedFiles {
  const state: State = { app, isOwnLog, seen: new Map(), inputs: new Set(), logs: new Set() };
  findChanges(state);
  return {
    changes: () => findChanges(state),
    addInputs: (paths) => addInputs(state, paths),
    folders: () => [...appFolders(app), ...outerFolders(state)],
    has: (path) => state.seen.has(path),
  };
}

function findChanges(state: State): Map<string, Change> {
  const { app, seen, logs, isOwnLog } = state;
  const found = new Map<string, Change>();
  const now = pathsOf(state);
  for (const path of now) {
    const before = seen.get(path);
    const current = look(app, path, before);
    if (current === undefined) continue;
    seen.set(path, current);
    if (current.hash === before?.hash) continue;
    if (isOwnLog(path)) logs.add(path);
    else found.set(path, before === undefined ? "new" : "saved");
  }
  for (const path of [...seen.keys()].filter((path) => !now.has(path))) {
    seen.delete(path);
    if (!logs.has(path)) found.set(path, "gone");
  }
  return found;
}

function addInputs(state: State, paths: Iterable<string>): void {
  const { app, seen, inputs } = state;
  const before = inputs.size;
  for (const path of paths) inputs.add(path);
  if (inputs.size === before) return;
  for (const path of outerFolders(state).flatMap((folder) => filesIn(app, folder))) {
    const current = seen.has(path) ? undefined : look(app, path, undefined);
    if (current) seen.set(path, current);
  }
}

function pathsOf(state: State): Set<string> {
  const folders = [...appFolders(state.app), ...outerFolders(state)];
  const paths = folders.flatMap((folder) => filesIn(state.app, folder));
  return new Set(paths.filter((path) => !state.logs.has(path)));
}

/** The folders of inputs that are not among the app's own, such as those of workspaces and built packages. */
function outerFolders({ app, inputs }: State): string[] {
  const own = new Set(appFolders(app));
  return [...new Set([...inputs].map((path) => dirname(path)))]
    .filter((folder) => !own.has(folder))
    .flatMap((folder) => withInner(app, folder));
}

/** A folder above the app's is taken alone: it may hold the whole disk. So is `node_modules`: npm's list in it shows any change. */
function withInner(app: AppFolder, folder: string): string[] {
  if (!existsSync(folder)) return [nearestExisting(folder)];
  if (folder.endsWith(`${sep}node_modules`) || `${app.root}${sep}`.startsWith(`${folder}${sep}`))
    return [folder];
  return appFolders({ ...app, root: folder });
}

function look(app: AppFolder, path: string, before: Seen | undefined): Seen | undefined {
  const stat = statPart(app, path);
  if (stat === undefined) return undefined;
  const mark = [stat.mtimeMs, stat.ctimeMs, stat.size, stat.ino].join(" ");
  if (before?.mark === mark) return before;
  const hash = hashPart(app, path);
  return hash === undefined ? undefined : { mark, hash };
}

/** The folder in which a missing folder, or the first missing one above it, would appear. */
function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(dirname(folder));
}
