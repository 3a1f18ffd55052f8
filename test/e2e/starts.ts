import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  CloudWatchLogsClient,
  paginateFilterLogEvents,
  ResourceNotFoundException,
} from "@aws-sdk/client-cloudwatch-logs";
import { inject } from "vitest";
import { PATIENCE_MS } from "../patience.ts";

/** The lines that are read are at most this old. A run of the suite is shorter. */
const SUITE_MS = 6 * 60 * 60_000;

/** By the handler's own log: ms since the epoch, one for each run. Waits for the first line, because CloudWatch Logs shows it late. */
export async function startsOf(id: string): Promise<number[]> {
  const { log } = inject("target");
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const lines = "file" in log ? readFileSync(log.file, "utf8").split("\n") : await linesIn(log.group, id);
    const starts = lines.flatMap((line) => {
      if (!/\breminder\b/.test(line) || !line.includes(id)) return [];
      const at = /startedAt[=:" ]+(\d{13})/.exec(line)?.[1];
      return at ? [Number(at)] : [];
    });
    if (starts.length > 0) return starts;
    if (Date.now() > end) throw new Error(`the log does not say that ${id} started: ${JSON.stringify(log)}`);
    await sleep(1000);
  }
}

/** None while the group is absent: an emulator may create it when the function first runs. */
async function linesIn(logGroupName: string, id: string): Promise<string[]> {
  const client = new CloudWatchLogsClient({});
  const pages = paginateFilterLogEvents(
    { client },
    { logGroupName, filterPattern: `"${id}"`, startTime: Date.now() - SUITE_MS },
  );
  const lines: string[] = [];
  try {
    for await (const { events = [] } of pages) lines.push(...events.map(({ message = "" }) => message));
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
  } finally {
    client.destroy();
  }
  return lines;
}
