import { accessSync, constants, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { diskShortage } from "./disk.ts";
import { errorCode, errorText, LocalError } from "./local-error.ts";
import { commandOf, signalProcess } from "./processes.ts";

/** What a runner leaves about itself, for the next one and for people. */
type Record = {
  pid: number;
  url: string;
  /** Where the services answer that no emulator plays, Secrets Manager among them. */
  services: string;
  emulators: number[];
};

/** SQLite keeps files beside its own. */
const withCompanions = (database: string): string[] =>
  ["", "-wal", "-shm", "-journal"].map((ending) => database + ending);

/** What `reset` drops. */
const DROPPED = [
  ...["dynamodb.sqlite", "schedules.sqlite"].flatMap(withCompanions),
  "sqs",
  "event-sources.json",
  "event-sources.json.new",
];
const KEPT = [...withCompanions("lock"), "compiled", "runner.json", "secrets.json", "secrets.json.new"];

export type DataFolder = {
  readonly databaseFile: string;
  readonly queuesDir: string;
  readonly schedulesFile: string;
  readonly eventSourcesFile: string;
  /** Only its owner may read it. */
  readonly secretsFile: string;
  /** Where functions keep compiled code. */
  readonly codeCacheDir: string;
  /** The folder, and what the runner writes in it: it may be a folder of the user's. */
  readonly paths: ReadonlySet<string>;
  readonly note: (record: Record) => void;
  /** Why nothing can be written now, in words; `undefined` while the disk has room. */
  readonly shortage: () => string | undefined;
  /** Gives the folder free. The operating system does so too when the process dies. */
  readonly release: () => void;
};

/**
 * Takes a folder for this process alone. `reset` drops what an earlier run left, but for the secrets, which
 * receivers know, and nothing else in it.
 * Throws `LocalError` if it is no folder, cannot be written, has no room on its disk or is in use. `shortageIn` says why a
 * folder has no room.
 */
export function openDataFolder(dir: string, reset: boolean, shortageIn = diskShortage): DataFolder {
  const path = resolve(dir);
  makeWritable(path, dir);
  const shortage = shortageIn(path);
  if (shortage !== undefined) throw new LocalError(shortage);
  const recordFile = join(path, "runner.json");
  const lock = lockFolder(path, () => readRecord(recordFile));
  const folder = {
    databaseFile: join(path, "dynamodb.sqlite"),
    queuesDir: join(path, "sqs"),
    schedulesFile: join(path, "schedules.sqlite"),
    eventSourcesFile: join(path, "event-sources.json"),
    secretsFile: join(path, "secrets.json"),
    codeCacheDir: join(path, "compiled"),
    paths: new Set([path, ...[...DROPPED, ...KEPT].map((name) => join(path, name))]),
    note: (record: Record) => writeFileSync(recordFile, `${JSON.stringify(record)}\n`),
    shortage: () => shortageIn(path),
    release: () => {
      rmSync(recordFile, { force: true });
      lock.close();
    },
  };
  endLeftovers(readRecord(recordFile), path);
  if (reset) for (const name of DROPPED) rmSync(join(path, name), { recursive: true, force: true });
  return folder;
}

function makeWritable(path: string, dir: string): void {
  try {
    // It holds the bodies of jobs.
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK);
  } catch (error) {
    const isFile = statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
    if (isFile) throw new LocalError(`the data folder ${dir} must be a folder, but is a file (see --data)`);
    throw new LocalError(`the data folder ${dir} cannot be written: ${errorCode(error)}`);
  }
}

/** A lock of SQLite's is the operating system's own: it cannot outlive its process. */
function lockFolder(path: string, holder: () => Record | undefined): DatabaseSync {
  const file = join(path, "lock");
  try {
    const lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    if (!/locked/.test(errorText(error)))
      throw new LocalError(`the data folder ${path} is broken: ${file}: ${errorText(error)}`);
    const other = holder();
    const who = other ? ` (process ${other.pid}, ${other.url})` : "";
    throw new LocalError(
      `the data folder ${path} is in use by another runner${who}; choose another folder with --data`,
    );
  }
}

function readRecord(file: string): Record | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** An emulator can outlive a runner only if the guard was killed too. Its arguments name this folder. */
function endLeftovers(record: Record | undefined, path: string): void {
  for (const pid of record?.emulators ?? []) if (commandOf(pid).includes(path)) signalProcess(pid, "SIGKILL");
}
