import { readFileSync } from "node:fs";
import { join } from "node:path";

export const DATA_FOLDER = ".minutehand";

/** The content of `runner.json` in the data folder: how the next runner, `doctor` and the user find this runner. */
export type RunnerRecord = {
  readonly pid: number;
  readonly url: string;
  /** The URL of the services that the runner itself plays, such as Secrets Manager. Its path is the key of this run. */
  readonly services: string;
  readonly emulators: readonly number[];
  readonly warnings: readonly string[];
};

export type RecordKeeper = {
  readonly start: (pids: () => object) => void;
  readonly warn: (warnings: readonly string[]) => void;
  readonly write: () => void;
  readonly stop: () => void;
};

/** Without `write`, there is no record. */
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

export function readRecord(dataDir: string): RunnerRecord | undefined {
  try {
    return JSON.parse(readFileSync(recordFile(dataDir), "utf8"));
  } catch {
    return undefined;
  }
}
