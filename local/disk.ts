import { statfsSync } from "node:fs";

const MIB = 1024 * 1024;
/** SQLite needs room for its log before each write. The remaining room lets running jobs finish. */
const MIN_FREE_BYTES = 8 * MIB;
const CHECK_EVERY_MS = 5_000;

type FreeSpace = { readonly blocks: number; readonly bavail: number; readonly bsize: number };

/** Answers `undefined` while the folder's disk has at least 8 MiB free. `readSpace` answers as statfs(2) does. */
export function diskShortage(
  dir: string,
  readSpace: (dir: string) => FreeSpace = statfsSync,
): string | undefined {
  const { blocks, bavail, bsize } = readSpace(dir);
  const free = bavail * bsize;
  // Some file systems do not count blocks and answer 0.
  if (blocks === 0 || free >= MIN_FREE_BYTES) return undefined;
  const left = Math.floor((free / MIB) * 10) / 10;
  return `the disk of the data folder ${dir} is full: ${left} MiB are free, at least ${MIN_FREE_BYTES / MIB} MiB are needed`;
}

/** Logs when the disk becomes full and when it has room again. The returned function ends the checks. */
export function logDiskShortage(
  shortage: () => string | undefined,
  log: (line: string) => void,
  every = CHECK_EVERY_MS,
): () => void {
  let isShort = false;
  const timer = setInterval(() => {
    const reason = shortage();
    if (isShort === (reason !== undefined)) return;
    isShort = reason !== undefined;
    log(reason ? `${reason}; jobs wait until there is room` : "the disk of the data folder has room again");
  }, every);
  timer.unref();
  return () => clearInterval(timer);
}
