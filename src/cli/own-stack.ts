import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Endpoints } from "../../local/functions/platform.ts";
import { isProcessRunning } from "../../local/processes/processes.ts";
import { DATA_FOLDER, type RunnerRecord, readRecord, recordFile } from "../../local/runner-record.ts";
import { isLoopback } from "../settings/loopback.ts";
import { CliError, UsageError } from "./cli-error.ts";

/** A local stack that runs, and the folder that it runs in, or its data folder if that was named. */
export type OwnStack = { readonly folder: string; readonly record: RunnerRecord };

/**
 * The local stack that runs in a folder, or else in the next folder above that has one. Throws `UsageError` if a stack does not answer within
 * `patience` ms: a command must then not go to another stack.
 */
export async function findOwnStack(folder: string, patience: number): Promise<OwnStack | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const own = await findStackOf(join(at, DATA_FOLDER), patience, at);
    if (own) return own;
    if (at === dirname(at)) return undefined;
  }
}

/**
 * The local stack that runs with a data folder. Throws `UsageError` if it does not answer within `patience` ms. `folder`: how errors name the
 * stack's place.
 */
export async function findStackOf(
  data: string,
  patience: number,
  folder = data,
): Promise<OwnStack | undefined> {
  const record = ownRecord(data);
  return record && (await doesAnswer(record, folder, patience)) ? { folder, record } : undefined;
}

/** Whether a runner serves the API at `url`. */
export function servesAt({ url: served }: RunnerRecord, url: string): boolean {
  const { hostname, port } = new URL(url);
  return isLoopback(hostname) && port === new URL(served).port;
}

/** Calls a service of a local stack, which checks no signatures. `target`: `AWSEvents.PutEvents`. Throws `CliError` for a refusal. */
export async function callLocalService(
  { folder, record }: OwnStack,
  service: keyof Endpoints,
  target: string,
  body: object,
): Promise<unknown> {
  const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": target };
  const request = { method: "POST", headers, body: JSON.stringify(body), redirect: "manual" } as const;
  const response = await fetch(record.endpoints[service], request);
  const answer = (await response.json()) as { readonly Message?: string };
  if (response.ok) return answer;
  throw new CliError(`the local stack of ${folder} refused ${target}: ${answer.Message ?? response.status}`);
}

/** `undefined`: there is no record, its runner has ended, or another user could have written it. */
function ownRecord(data: string): RunnerRecord | undefined {
  // This is asked before the record is read: that of another user could be a pipe, which never ends.
  if (![data, recordFile(data)].every(isOwn)) return undefined;
  const record = readRecord(data);
  // A killed runner leaves its record.
  if (!record || !isProcessRunning(record.pid)) return undefined;
  return [record.url, record.services].every(isLocal) ? record : undefined;
}

/**
 * Whether the runner of a record answers. The id of an ended runner can be that of another process by now, and its port that of another program.
 * Only the runner knows the key in the URL, and then names the error of a request that it does not know as an operation.
 */
async function doesAnswer(
  { services, pid }: RunnerRecord,
  folder: string,
  patience: number,
): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(patience);
    const { headers, body } = await fetch(services, { signal, redirect: "manual" });
    await body?.cancel();
    return headers.get("x-amzn-errortype") === "UnknownOperationException";
  } catch (error) {
    if (!(error instanceof Error && error.name === "TimeoutError")) return false;
    throw new UsageError(
      `the local stack of ${folder} (process ${pid}) does not answer: end it, or name an API with --url or --stack`,
    );
  }
}

function isLocal(url: string): boolean {
  const { protocol, hostname = "" } = URL.parse(url) ?? {};
  return protocol === "http:" && isLoopback(hostname);
}

/** Windows has no such ids. There the folder of a user is the user's alone. */
function isOwn(path: string): boolean {
  try {
    const uid = process.getuid?.();
    const { uid: owner, mode } = lstatSync(path);
    return uid === undefined || (owner === uid && (mode & 0o022) === 0);
  } catch {
    return false;
  }
}
