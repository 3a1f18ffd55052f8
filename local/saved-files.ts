import { existsSync } from "node:fs";
import { dirname, sep } from "node:path";
import { type AppFolder, appFolders, filesIn, hashPart, statPart } from "./app-folder.ts";

/** The files that a running stack is made of, and their contents when they were last looked at. */
export type SavedFiles = {
  /** Answers how files have changed since the last call, by their paths. A file is left out if its content is the same. */
  readonly changes: () => Map<string, Change>;
  /**
   * Adds the folders of these files to the folders that are looked at. Their present files do not count as new. A path may name
   * no file yet, and its folder may be missing.
   */
  readonly addInputs: (paths: Iterable<string>) => void;
  /** Lists the folders of all these files. */
  readonly folders: () => string[];
  /** Whether a path is one of these files. */
  readonly has: (path: string) => boolean;
};

export type Change = "saved" | "new" | "gone";

/** `hash` identifies a file's content. Each save changes `mark`, so a file with the same `mark` is not read again. */
type Seen = { readonly mark: string; readonly hash: string };

/**
 * Looks at the app's folder and, outside it, at the folders of the handlers' inputs. `isOwnLog` says whether a changed file holds the
 * runner's own output. Such a file is then ignored.
 */
export function createSavedFiles(app: AppFolder, isOwnLog: (path: string) => boolean): SavedFiles {
  const seen = new Map<string, Seen>();
  const inputs = new Set<string>();
  const logs = new Set<string>();

  /** The folders of inputs that are not among the app's own, such as those of workspaces and built packages. */
  function outerFolders(): string[] {
    const own = new Set(appFolders(app));
    return [...new Set([...inputs].map((path) => dirname(path)))]
      .filter((folder) => !own.has(folder))
      .flatMap(withInner);
  }

  /**
   * A folder with its inner folders. A folder above the app's own is taken without them, because it may hold the whole disk.
   * `node_modules` is taken without them too, because npm's list in it changes with each package.
   */
  function withInner(folder: string): string[] {
    if (!existsSync(folder)) return [nearestExisting(folder)];
    if (folder.endsWith(`${sep}node_modules`) || `${app.root}${sep}`.startsWith(`${folder}${sep}`))
      return [folder];
    return appFolders({ ...app, root: folder });
  }

  function paths(): Set<string> {
    const own = [...appFolders(app), ...outerFolders()].flatMap((folder) => filesIn(app, folder));
    return new Set(own.filter((path) => !logs.has(path)));
  }

  function look(path: string): Seen | undefined {
    const stat = statPart(app, path);
    if (stat === undefined) return undefined;
    const mark = [stat.mtimeMs, stat.ctimeMs, stat.size, stat.ino].join(" ");
    const before = seen.get(path);
    if (before?.mark === mark) return before;
    const hash = hashPart(app, path);
    return hash === undefined ? undefined : { mark, hash };
  }

  function changes(): Map<string, Change> {
    const found = new Map<string, Change>();
    const now = paths();
    for (const path of now) {
      const before = seen.get(path);
      const current = look(path);
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

  changes();
  return {
    changes,
    addInputs: (added) => {
      const before = inputs.size;
      for (const path of added) inputs.add(path);
      if (inputs.size === before) return;
      for (const path of outerFolders().flatMap((folder) => filesIn(app, folder))) {
        const current = seen.has(path) ? undefined : look(path);
        if (current) seen.set(path, current);
      }
    },
    folders: () => [...appFolders(app), ...outerFolders()],
    has: (path) => seen.has(path),
  };
}

/** The folder in which a missing folder, or the first missing one above it, would appear. */
function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(dirname(folder));
}
