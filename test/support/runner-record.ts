import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DATA_FOLDER, type RunnerRecord, recordFile } from "../../local/runner-record.ts";

/** The record of a runner in this process, whose services all answer at `services`. */
export function runnerRecord({ services = "", ...parts }: Partial<RunnerRecord>): RunnerRecord {
  const [dynamodb, sqs, scheduler, secretsManager, eventBridge, lambda] = Array<string>(6).fill(services);
  return {
    pid: process.pid,
    url: "",
    services,
    endpoints: { dynamodb, sqs, scheduler, secretsManager, eventBridge, lambda },
    webhookSecrets: {},
    emulators: [],
    warnings: [],
    ...parts,
  } as RunnerRecord;
}

/** Writes what a local stack writes that runs in `folder`. Answers the path of its data folder. */
export function writeRunnerRecord(folder: string, parts: Partial<RunnerRecord>): string {
  const data = join(folder, DATA_FOLDER);
  mkdirSync(data, { mode: 0o700, recursive: true });
  writeFileSync(recordFile(data), JSON.stringify(runnerRecord(parts)), { mode: 0o600 });
  return data;
}
