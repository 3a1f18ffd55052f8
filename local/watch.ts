import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { errorText } from "./local-error.ts";
import { foldersIn, isInput, type Sources } from "./sources.ts";

/** Editors save in several steps, and formatters save again. */
const QUIET_MS = 150;

/** Calls `act` after `ms`, unless what it answers is called before. */
export type After = (ms: number, act: () => void) => () => void;

export type Watch = { readonly stop: () => void };

type Watching = {
  /** Something in the folder was saved, and nothing for a moment since. */
  readonly onSaved: () => void;
  readonly log: (line: string) => void;
  readonly after?: After;
};

/**
 * Watches what an app may be made of. Each folder by itself: a recursive watch would take in `node_modules`, with more
 * folders than some systems let one watch.
 */
export function watchFolder(sources: Sources, { onSaved, log, after = timer }: Watching): Watch {
  const watchers = new Map<string, FSWatcher>();
  let cancel = () => {};
  let stopped = false;

  function noticed(): void {
    cancel();
    cancel = after(QUIET_MS, () => {
      try {
        follow();
      } catch (error) {
        // Nobody else is there to catch it, and what runs is well.
        log(`saves in new folders go unnoticed: ${errorText(error)}`);
      }
      onSaved();
    });
  }

  /** Folders come and go. */
  function follow(): void {
    const folders = new Set(foldersIn(sources));
    for (const [folder, watcher] of watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const folder of folders) if (!stopped && !watchers.has(folder)) open(folder);
  }

  function open(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        // Where the system does not tell, it may be anything.
        if (name === null || isInput(sources, join(folder, name))) noticed();
      });
      // A folder that goes while it is watched.
      watcher.on("error", noticed);
      watchers.set(folder, watcher);
    } catch (error) {
      log(`saves in ${folder} go unnoticed: ${errorText(error)}`);
    }
  }

  function stop(): void {
    stopped = true;
    cancel();
    for (const watcher of watchers.values()) watcher.close();
  }

  follow();
  return { stop };
}

function timer(ms: number, act: () => void): () => void {
  const handle = setTimeout(act, ms);
  return () => clearTimeout(handle);
}
