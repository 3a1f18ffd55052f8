import { statfsSync } from "node:fs";

const MIB = 1024 * 1024;
/** Bytes. SQLite needs room for its log before a write, and the rest lets what runs end. */
const LEAST_FREE = 8 * MIB;
/** ms. */
const LOOK_EVERY = 5_000;

type Room = { readonly blocks: number; readonly bavail: number; readonly bsize: number };

/**
 * Why nothing can be written to a folder, in words; `undefined` while its disk has at least 8 MiB free. `roomOf` answers as
 * statfs(2) does.
 */
export function diskShortage(dir: string, roomOf: (dir: string) => Room = statfsSync): string | undefined {
  const { blocks, bavail, bsize } = roomOf(dir);
  const free = bavail * bsize;
  // A file system without blocks does not count them.
  if (blocks === 0 || free >= LEAST_FREE) return undefined;
  const left = Math.floor((free / MIB) * 10) / 10;
  return `the disk of the data folder ${dir} is full: ${left} MiB are free, at least ${LEAST_FREE / MIB} MiB are needed`;
}

/** Says when the disk becomes full, and when it has room again. Answers how to end this. */
export function logDiskShortage(
  shortage: () => string | undefined,
  log: (line: string) => void,
  every = LOOK_EVERY,
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
