import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoints } from "./functions/platform.ts";

export const DATA_FOLDER = ".minutehand";

/** The content of `runner.json` in the data folder: how the next runner, `doctor` and the user find this runner. */
export type RunnerRecord = {
  readonly pid: number;
  readonly url: string;
  /** The URL of the services that the runner itself plays, such as Secrets Manager. Its path is the key of this run. */
  readonly services: string;
  /** The URL of each service, of the emulators too: for `aws --endpoint-url`, or an SDK. */
  readonly endpoints: Endpoints;
  /** The ARN of each webhook topic's secret, by topic. */
  readonly webhookSecrets: Readonly<Record<string, string>>;
  readonly emulators: readonly number[];
  readonly warnings: readonly string[];
};

/** What is known only when the app has been read and the emulators run. */
type StackRecord = Pick<RunnerRecord, "endpoints" | "webhookSecrets">;

export type RecordKeeper = {
  readonly start: (pids: () => object, stack: StackRecord) => void;
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
  let started: { readonly pids: () => object; readonly stack: StackRecord } | undefined;
  const writeAgain = () => {
    if (!started) return;
    const { pids, stack } = started;
    write({ pid: process.pid, ...fixed, ...stack, emulators: Object.values(pids()), warnings });
  };
  return {
    start: (pids, stack) => {
      started = { pids, stack };
      writeAgain();
    },
    warn: (lines) => {
      warnings = lines;
      writeAgain();
    },
    write: writeAgain,
    stop: () => {
      started = undefined;
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
