import { type FSWatcher, statSync, watch } from "node:fs";
import { join } from "node:path";
import { errorText } from "../local-error.ts";

/** One save causes several changes: an editor writes a file in steps, and then a formatter writes the file again. */
const DEBOUNCE_MS = 150;

type WatchOptions = {
  /** Called with the saved paths once no file of the folders has changed for `DEBOUNCE_MS`. With none for what was saved before. */
  readonly onSaved: (paths: ReadonlySet<string>) => Promise<void>;
  /** Other files of the folders may change all the time, such as a log, so the wait does not begin again after a change of one. */
  readonly isInput: (path: string) => boolean;
  /** Lists the folders to watch. Asked again after each call of `onSaved`. */
  readonly folders: () => ReadonlySet<string>;
  readonly log: (line: string) => void;
  /** Calls `act` after `ms`. The returned function cancels the call. Default: a timer. */
  readonly after?: (ms: number, act: () => void) => () => void;
};

type Notice = (path?: string) => void;
/** `watcher` is absent if the folder could not be watched. */
type Watched = { readonly watcher?: FSWatcher; readonly mark: string };

/** Watches the folders, not their files: an editor may replace a file, and a missing file may appear. Answers a function that ends it. */
export function watchFolders({
  onSaved,
  isInput,
  folders,
  log,
  after = callAfter,
}: WatchOptions): () => void {
  const watched = new Map<string, Watched>();
  let saved = new Set<string>();
  let cancel: (() => void) | undefined;
  let stopped = false;
  const notice: Notice = (path) => {
    if (path !== undefined) saved.add(path);
    if (stopped || (cancel !== undefined && path !== undefined && !isInput(path))) return;
    cancel?.();
    cancel = after(DEBOUNCE_MS, () => {
      cancel = undefined;
      const paths = saved;
      saved = new Set();
      void onSaved(paths).then(update);
    });
  };
  const update = () => {
    const listed = stopped ? new Set<string>() : folders();
    closeOthers(watched, listed);
    for (const folder of listed) {
      if (watched.has(folder)) continue;
      watched.set(folder, watchFolder(folder, notice, log));
      // A file may have been saved before its folder was watched.
      notice();
    }
  };
  update();
  return () => {
    stopped = true;
    cancel?.();
    update();
  };
}

function closeOthers(watched: Map<string, Watched>, listed: ReadonlySet<string>): void {
  for (const [folder, { watcher, mark }] of watched) {
    // If a folder was deleted and made again, as by a checkout of another branch, its watcher sees nothing any more.
    if (listed.has(folder) && markOf(folder) === mark) continue;
    watcher?.close();
    watched.delete(folder);
  }
}

function watchFolder(folder: string, notice: Notice, log: WatchOptions["log"]): Watched {
  const mark = markOf(folder);
  try {
    // Some systems do not name the changed file. To delete a watched folder is an error on some systems.
    const watcher = watch(folder, (_, name) => notice(name === null ? undefined : join(folder, name)));
    watcher.on("error", () => notice());
    return { watcher, mark };
  } catch (error) {
    log(`saves in ${folder} are not noticed: ${errorText(error)}`);
    return { mark };
  }
}

/** A new folder often gets the inode of a deleted one. */
function markOf(folder: string): string {
  const { ino, birthtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? {};
  return `${ino} ${birthtimeMs}`;
}

function callAfter(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}
