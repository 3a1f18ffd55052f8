import type * as z from "zod/mini";
import type { Home } from "../../core/home.ts";
import { iso } from "../../general/times.ts";
import type { Context, Timers } from "../../protocol/ports.ts";
import { receive } from "../../protocol/run/pull.ts";
import { extend, settlePulled } from "../../protocol/run/settle-pulled.ts";
import type { JobJson } from "../answers/jobs.ts";
import { jobJson } from "../job-json.ts";
import type { burying, extending, finishing, receiving, retrying } from "../requests.ts";

/** What the calls of workers that pull do, here and in the direct worker. */

/** Empty for an untracked job, whose run is not recorded in the table. */
export type SettledJson = JobJson | Record<never, never>;

function settledJson(ctx: Context, home: Home | undefined): SettledJson {
  return home ? jobJson(ctx, home) : {};
}

/** `signal`: see `HttpRequest`. */
export async function receiveJobs(
  ctx: Context,
  topic: string,
  fields: z.output<typeof receiving>,
  timers: Timers,
  signal: AbortSignal | undefined,
) {
  const pulled = await receive(ctx, topic, { ...fields, ...(signal && { signal }) }, timers);
  return pulled.map(({ dueAt, leaseUntil, ...same }) => {
    return { ...same, dueAt: iso(dueAt), leaseUntil: iso(leaseUntil) };
  });
}

export async function finishJob(
  ctx: Context,
  topic: string,
  { receipt }: z.output<typeof finishing>,
): Promise<SettledJson> {
  return settledJson(ctx, await settlePulled(ctx, topic, receipt, { end: "done" }));
}

export async function extendLease(
  ctx: Context,
  topic: string,
  { receipt, seconds }: z.output<typeof extending>,
): Promise<SettledJson & { leaseUntil: string }> {
  const { home, leaseUntil } = await extend(ctx, topic, receipt, seconds * 1000);
  return { ...settledJson(ctx, home), leaseUntil: iso(leaseUntil) };
}

export async function retryJob(
  ctx: Context,
  topic: string,
  { receipt, delay, error }: z.output<typeof retrying>,
): Promise<SettledJson> {
  const ending = {
    end: "failed",
    error: said(error, "its consumer asked for a retry"),
    verb: "retry",
    ...(delay === undefined ? {} : { retryAfter: delay }),
  } as const;
  return settledJson(ctx, await settlePulled(ctx, topic, receipt, ending));
}

export async function buryJob(
  ctx: Context,
  topic: string,
  { receipt, error }: z.output<typeof burying>,
): Promise<SettledJson> {
  const ending = { end: "buried", error: said(error, "buried by its consumer"), verb: "bury" } as const;
  return settledJson(ctx, await settlePulled(ctx, topic, receipt, ending));
}

/** The error as a worker told it, in a form that DynamoDB can store. */
function said(error: string | undefined, otherwise: string): string {
  return error === undefined || error === "" ? otherwise : error.toWellFormed();
}
