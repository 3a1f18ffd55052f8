import type { IfMatch } from "../../core/as-seen.ts";
import { cancel, cancelByKey } from "../../protocol/change/cancel.ts";
import { reschedule } from "../../protocol/change/reschedule.ts";
import { inChain } from "../../protocol/file/chain-guard.ts";
import { enqueue } from "../../protocol/file/enqueue.ts";
import { enqueueCounted } from "../../protocol/file/filing-limit.ts";
import type { Enqueued, NewJob } from "../../protocol/new-job.ts";
import { isFilingLimited, requireTracked } from "../../protocol/policy.ts";
import type { Context } from "../../protocol/ports.ts";
import { waitsOf } from "../../protocol/read/waits.ts";
import { idOfKey, readJob } from "../../protocol/store/read-job.ts";
import type { Logs } from "../../settings/log-groups.ts";
import type { JobJson } from "../answers/jobs.ts";
import { jobJson, waitJson } from "../job-json.ts";
import { logUrlOf } from "../log-url.ts";
import { newJobOf, onceOf, rescheduleOf, type Sent, traceOf } from "../new-job.ts";
import type { ChangeFields, KeyedJobFields, NewJobFields } from "../requests.ts";

/** The API's routes and the direct client make these calls with fields that the schemas have checked. */

/** An `Idempotency-Key` knows the repeats of a call by `sent`. */
export function enqueueJob(ctx: Context, fields: NewJobFields, sent: Sent): Promise<Enqueued> {
  return file(ctx, { ...newJobOf(ctx, fields), ...onceOf(sent) }, sent);
}

export type Keyed = { readonly topic: string; readonly key: string };

export function putJob(
  ctx: Context,
  keyed: Keyed,
  fields: KeyedJobFields,
  sent: Sent,
  ifMatch?: IfMatch,
): Promise<Enqueued> {
  const job = newJobOf(ctx, { ...fields, ...keyed, onDuplicate: "replace" });
  return file(ctx, { ...job, ...onceOf(sent), ...(ifMatch && { ifMatch }) }, sent);
}

async function file(ctx: Context, wanted: NewJob, { headers }: Sent): Promise<Enqueued> {
  const asked = { ...wanted, ...traceOf({ headers }) };
  const chain = headers["minutehand-chain"];
  const [job = asked] = chain === undefined ? [] : await inChain(ctx, [asked], chain);
  return isFilingLimited(ctx, job.topic) ? enqueueCounted(ctx, job) : enqueue(ctx, job);
}

/** `logs`: where the functions of topics write their logs, if that is known. */
export async function getJob(ctx: Context, id: string, logs?: Logs): Promise<JobJson> {
  const home = await readJob(ctx, id);
  const waits = await waitsOf(ctx, [home]);
  return { ...jobJson(ctx, home), ...waitJson(waits.get(id)), ...logUrlOf(logs, home) };
}

export async function getJobByKey(ctx: Context, keyed: Keyed, logs?: Logs): Promise<JobJson> {
  return getJob(ctx, await idByKey(ctx, keyed), logs);
}

export async function idByKey(ctx: Context, { topic, key }: Keyed): Promise<string> {
  requireTracked(ctx, topic, "a key");
  return idOfKey(ctx, topic, key);
}

export async function rescheduleJob(
  ctx: Context,
  id: string,
  fields: ChangeFields,
  sent: Sent,
  ifMatch?: IfMatch,
): Promise<JobJson> {
  const change = { ...rescheduleOf(ctx, fields, sent), ...(ifMatch && { ifMatch }) };
  return jobJson(ctx, await reschedule(ctx, id, change));
}

export async function cancelJob(ctx: Context, id: string, ifMatch?: IfMatch): Promise<JobJson> {
  return jobJson(ctx, await cancel(ctx, id, ifMatch));
}

export async function cancelJobByKey(
  ctx: Context,
  { topic, key }: Keyed,
  ifMatch?: IfMatch,
): Promise<JobJson> {
  requireTracked(ctx, topic, "a key");
  return jobJson(ctx, await cancelByKey(ctx, topic, key, ifMatch));
}
