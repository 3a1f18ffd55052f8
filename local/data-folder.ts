import { accessSync, chmodSync, constants, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { diskShortage } from "./disk.ts";
import { errorCode, errorText, LocalError } from "./local-error.ts";
import { makePrivate, makePrivateFile, makePrivateFolder, writePrivateFile } from "./private-files.ts";
import { commandOf, signalProcess } from "./processes/processes.ts";
import { DATA_FOLDER, type RunnerRecord, readRecord, recordFile } from "./runner-record.ts";

const sqliteFiles = (database: string): string[] =>
  ["", "-wal", "-shm", "-journal"].map((ending) => database + ending);

const DELETED_BY_RESET = [
  ...["dynamodb.sqlite", "dynamodb-portable.sqlite", "schedules.sqlite"].flatMap(sqliteFiles),
  "sqs",
  "event-sources.json",
  "event-sources.json.new",
  "clock.json",
  "clock.json.new",
  "topics.json",
  "topics.json.new",
];
const KEPT_BY_RESET = [
  ...[...sqliteFiles("lock"), "compiled", "synthesised", "runner.json", "runner.json.new"],
  ...["secrets.json", "secrets.json.new"],
];
const OWN = [...DELETED_BY_RESET, ...KEPT_BY_RESET];

export type DataFolder = {
  readonly databaseFiles: { readonly native: string; readonly portable: string };
  readonly queuesDir: string;
  readonly schedulesFile: string;
  readonly eventSourcesFile: string;
  readonly secretsFile: string;
  readonly clockFile: string;
  /** The topics of the last start. */
  readonly topicsFile: string;
  readonly codeCacheDir: string;
  /** The folder, and every path in it that the runner writes. The folder may also hold files of the user. */
  readonly paths: ReadonlySet<string>;
  readonly writeRecord: (record: RunnerRecord) => void;
  /** Says why nothing can be written now; `undefined` while the disk has room. */
  readonly shortage: () => string | undefined;
  /** Unlocks the folder. When the process dies, the operating system unlocks it too. */
  readonly release: () => void;
};

/**
 * Locks a folder for this process. `reset` keeps the secrets, which receivers know, and files of the user. Throws `LocalError` if the
 * path is not a folder, cannot be written, is on a full disk or is in use.
 */
export function openDataFolder(dir: string, reset: boolean, shortageIn = diskShortage): DataFolder {
  const path = resolve(dir);
  makeWritable(path, dir);
  const shortage = shortageIn(path);
  if (shortage !== undefined) throw new LocalError(shortage);
  keepFromOthers(path, dir);
  const lock = lockFolder(path, () => readRecord(path));
  const folder = {
    databaseFiles: {
      native: join(path, "dynamodb.sqlite"),
      portable: join(path, "dynamodb-portable.sqlite"),
    },
    queuesDir: join(path, "sqs"),
    schedulesFile: join(path, "schedules.sqlite"),
    eventSourcesFile: join(path, "event-sources.json"),
    secretsFile: join(path, "secrets.json"),
    clockFile: join(path, "clock.json"),
    topicsFile: join(path, "topics.json"),
    codeCacheDir: join(path, "compiled"),
    paths: new Set([path, ...OWN.map((name) => join(path, name))]),
    writeRecord: (record: RunnerRecord) => writePrivateFile(recordFile(path), `${JSON.stringify(record)}\n`),
    shortage: () => shortageIn(path),
    release: () => {
      rmSync(recordFile(path), { force: true });
      lock.close();
    },
  };
  killLeftEmulators(readRecord(path), path);
  if (reset) for (const name of DELETED_BY_RESET) rmSync(join(path, name), { recursive: true, force: true });
  return folder;
}

function makeWritable(path: string, dir: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK);
  } catch (error) {
    const isFile = statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
    if (isFile) throw new LocalError(`the data folder ${dir} must be a folder, but is a file (see --data)`);
    throw new LocalError(`the data folder ${dir} cannot be written: ${errorCode(error)}`);
  }
}

/** The folder holds secrets and the bodies of jobs. Earlier versions and other programs may have given others the right to read them. */
function keepFromOthers(path: string, dir: string): void {
  try {
    // If `--data` names a folder that also holds other files, such as those of a project, other users may need these.
    const isDataOnly =
      basename(path) === DATA_FOLDER || readdirSync(path).every((name) => OWN.includes(name));
    if (isDataOnly) makePrivateFolder(path);
    // Setting the mode that the folder has fails if it is another user's, who could exchange the files.
    else chmodSync(path, statSync(path).mode);
    for (const name of OWN) makePrivate(join(path, name));
  } catch (error) {
    throw new LocalError(
      `the data folder ${dir} must be yours, because other users may not read its jobs and secrets: ${errorCode(error)}`,
    );
  }
}

/** Takes a lock of SQLite. The operating system keeps SQLite's locks, so the lock cannot outlive its process. */
function lockFolder(path: string, holder: () => RunnerRecord | undefined): DatabaseSync {
  const file = join(path, "lock");
  try {
    makePrivateFile(file);
    const lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    if (!/locked/.test(errorText(error)))
      throw new LocalError(`the data folder ${path} is broken: ${file}: ${errorText(error)}`);
    const other = holder();
    const who = other ? ` (process ${other.pid}, ${other.url})` : "";
    throw new LocalError(
      `the data folder ${path} is in use by another local stack${who}: end that one with Ctrl-C, or choose another folder with --data`,
    );
  }
}

/** Emulators outlive a runner only if its guard was killed too. Their command line names the folder, so no other process is killed. */
function killLeftEmulators(record: RunnerRecord | undefined, path: string): void {
  for (const pid of record?.emulators ?? []) if (commandOf(pid).includes(path)) signalProcess(pid, "SIGKILL");
}
