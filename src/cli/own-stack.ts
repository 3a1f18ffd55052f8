import { lstatSync } from "node:fs";
import { join } from "node:path";
import { isProcessRunning } from "../../local/processes/processes.ts";
import { DATA_FOLDER, readRecord, recordFile } from "../../local/runner-record.ts";
import { isLoopback } from "../settings/loopback.ts";

/** The URL of the local stack that runs in this folder. `undefined`: none runs, or another user could have written the record of it. */
export function ownStackUrl(folder: string): string | undefined {
  const data = join(folder, DATA_FOLDER);
  const record = readRecord(data);
  // A killed runner leaves its record.
  if (record === undefined || !isProcessRunning(record.pid)) return undefined;
  if (![data, recordFile(data)].every(isOwn)) return undefined;
  const { protocol, hostname = "" } = URL.parse(record.url) ?? {};
  return protocol === "http:" && isLoopback(hostname) ? record.url : undefined;
}

/** Windows has no such ids. There the folder of a user is the user's alone. */
function isOwn(path: string): boolean {
  const uid = process.getuid?.();
  const { uid: owner, mode } = lstatSync(path);
  return uid === undefined || (owner === uid && (mode & 0o022) === 0);
}
