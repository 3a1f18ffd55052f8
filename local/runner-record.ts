import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The name of the data folder in the folder in which the runner is started. */
export const DATA_FOLDER = ".minutehand";

/** The content of `runner.json` in the data folder: how the next runner, `doctor` and the user find this runner. */
export type RunnerRecord = {
  readonly pid: number;
  readonly url: string;
  /** The URL of the services that the runner itself plays, such as Secrets Manager. */
  readonly services: string;
  readonly emulators: readonly number[];
  /** What the runner warns of now, and what it does not play. */
  readonly warnings: readonly string[];
};

export type RecordKeeper = {
  /** Writes the record from now on. `pids`: the process ids of the emulators. */
  readonly start: (pids: () => object) => void;
  readonly warn: (warnings: readonly string[]) => void;
  /** Writes the record again. */
  readonly write: () => void;
  readonly stop: () => void;
};

/** Keeps the record of this process up to date. Without `write`, there is none. */
export function keepRecord(
  fixed: Pick<RunnerRecord, "url" | "services">,
  write: (record: RunnerRecord) => void = () => {},
): RecordKeeper {
  let warnings: readonly string[] = [];
  let pidsOf: (() => object) | undefined;
  const writeAgain = () => {
    if (pidsOf) write({ pid: process.pid, ...fixed, emulators: Object.values(pidsOf()), warnings });
  };
  return {
    start: (pids) => {
      pidsOf = pids;
      writeAgain();
    },
    warn: (lines) => {
      warnings = lines;
      writeAgain();
    },
    write: writeAgain,
    stop: () => {
      pidsOf = undefined;
    },
  };
}

export function recordFile(dataDir: string): string {
  return join(dataDir, "runner.json");
}

/** Reads the record of the runner that uses a data folder. `undefined` if there is none. */
export function readRecord(dataDir: string): RunnerRecord | undefined {
  try {
    return JSON.parse(readFileSync(recordFile(dataDir), "utf8"));
  } catch {
    return undefined;
  }
}
