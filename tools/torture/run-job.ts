import { setTimeout as sleep } from "node:timers/promises";
import { record } from "./ledger.ts";
import type { Body } from "./load.ts";

export const LEDGER_VARIABLE = "TORTURE_LEDGER";

export type Run = {
  readonly id: string;
  readonly attempt: number;
  /** ms since the epoch, as is `leaseUntil`. */
  readonly dueAt: number;
  readonly leaseUntil?: number;
  readonly body: Body;
};

/** Runs a job. Every consumer calls this. Records the start in the ledger before all else, and the end after all else. */
export async function runJob({
  id,
  attempt,
  dueAt,
  leaseUntil,
  body,
}: Run): Promise<"done" | "failed" | "too late"> {
  const file = process.env[LEDGER_VARIABLE] ?? "";
  const { n, version, takes, fails } = body;
  const at = Date.now();
  // The guide asks programs that pull to check the lease first.
  if (leaseUntil !== undefined && at >= leaseUntil) return "too late";
  const run = { n, version, id, attempt };
  record(file, {
    event: "started",
    ...run,
    dueAt,
    pid: process.pid,
    ...(leaseUntil === undefined ? {} : { leaseUntil }),
    at,
  });
  if (takes > 0) await sleep(takes);
  const how = fails && attempt === 1 ? "failed" : "done";
  record(file, { event: "ended", ...run, how, at: Date.now() });
  return how;
}
