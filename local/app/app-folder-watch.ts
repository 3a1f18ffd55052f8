import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { errorText } from "../local-error.ts";
import { type AppFolder, appFolders, isPartOfApp } from "./app-folder.ts";

/** One save causes several changes: an editor writes a file in steps, and then a formatter writes the file again. */
const DEBOUNCE_MS = 150;

type WatchOptions = {
  /** Gets the saved paths once no file changes for `DEBOUNCE_MS`. If `folders` then lists new ones, it is called again, without paths. */
  readonly onSaved: (paths: ReadonlySet<string>) => void | Promise<void>;
  /** Lists every folder to watch now. Default: the folders of the app. */
  readonly folders?: () => Iterable<string>;
  readonly log: (line: string) => void;
  /** Calls `act` after `ms`. The returned function cancels the call. Default: a timer. */
  readonly after?: (ms: number, act: () => void) => () => void;
};

type Watch = Required<WatchOptions> & {
  readonly app: AppFolder;
  readonly watchers: Map<string, FSWatcher>;
  saved: Set<string>;
  listed: ReadonlySet<string>;
  cancel: () => void;
  stopped: boolean;
};

/** Each folder has a watcher of its own: a recursive one would include `node_modules`, and some systems limit watched folders. */
export function watchAppFolder(
  app: AppFolder,
  { folders = () => appFolders(app), after = callAfter, ...options }: WatchOptions,
): () => void {
  const watched: Watch = {
    ...options,
    app,
    folders,
    after,
    watchers: new Map(),
    saved: new Set(),
    listed: new Set(),
    cancel: () => {},
    stopped: false,
  };
  updateWatchers(watched);
  return () => {
    watched.stopped = true;
    watched.cancel();
    for (const watcher of watched.watchers.values()) watcher.close();
  };
}

function debounceSave(watched: Watch): void {
  watched.cancel();
  watched.cancel = watched.after(DEBOUNCE_MS, () => {
    unlessUnreadable(watched, () => updateWatchers(watched));
    const paths = watched.saved;
    watched.saved = new Set();
    void watched.onSaved(paths)?.then(() => {
      // A file in a new folder may have been saved before the folder was watched, so `onSaved` is called once more.
      if (!watched.stopped) unlessUnreadable(watched, () => hasNewFolder(watched) && debounceSave(watched));
    });
  });
}

function hasNewFolder({ folders, listed }: Watch): boolean {
  return [...folders()].some((folder) => !listed.has(folder));
}

function unlessUnreadable({ log }: Watch, act: () => unknown): void {
  try {
    act();
  } catch (error) {
    // An uncaught error in a timer would end the runner, though the stack itself works.
    log(`saves in new folders are not noticed: ${errorText(error)}`);
  }
}

function updateWatchers(watched: Watch): void {
  const { watchers, stopped } = watched;
  const folders = new Set(watched.folders());
  watched.listed = folders;
  for (const [folder, watcher] of watchers) {
    if (folders.has(folder)) continue;
    watcher.close();
    watchers.delete(folder);
  }
  for (const folder of folders) if (!stopped && !watchers.has(folder)) watchFolder(watched, folder);
}

function watchFolder(watched: Watch, folder: string): void {
  try {
    const watcher = watch(folder, (_, name) => {
      // Some systems do not name the changed file, so it may belong to the app.
      if (name !== null && !isPartOfApp(watched.app, join(folder, name))) return;
      if (name !== null) watched.saved.add(join(folder, name));
      debounceSave(watched);
    });
    // Deleting a watched folder is an error on some systems.
    watcher.on("error", () => debounceSave(watched));
    watched.watchers.set(folder, watcher);
  } catch (error) {
    watched.log(`saves in ${folder} are not noticed: ${errorText(error)}`);
  }
}

function callAfter(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}
