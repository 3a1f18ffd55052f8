import { BATCH_JOBS } from "../../core/constants.ts";
import { MinutehandError, messageOf } from "../../core/errors.ts";
import type { Head } from "../../core/home.ts";
import { toJson } from "../../core/json.ts";
import { cancelMany } from "../../protocol/change/cancel.ts";
import { inChain } from "../../protocol/file/chain-guard.ts";
import { enqueueManyCounted } from "../../protocol/file/filing-limit.ts";
import type { Enqueued, NewJob } from "../../protocol/new-job.ts";
import { jobId } from "../fields.ts";
import { hashOf, newJobOf, type Sent, traceOf } from "../new-job.ts";
import { validate } from "../read-call.ts";
import { newJob } from "../requests.ts";
import type { Service } from "../route.ts";

/** Each entry succeeds or fails on its own, and the results have the order of the entries. */

type Used = Pick<Service, "ctx" | "log">;

/** Throws `too-many-jobs`. */
export async function enqueueJobs(
  { ctx, log }: Used,
  jobs: readonly unknown[],
  { method, path, headers }: Sent,
): Promise<(Enqueued | MinutehandError)[]> {
  checkCount("jobs", jobs.length);
  const token = headers["idempotency-key"];
  const trace = traceOf({ headers });
  const wanted = jobs.map((fields, i) =>
    attempt((): NewJob => {
      const job = { ...newJobOf(ctx, validate(newJob, fields, "the job")), ...trace };
      if (token === undefined) return job;
      // A token with `§` never equals a caller's own key, because such a key is printable ASCII.
      const hash = hashOf(method, path, toJson(fields));
      return { ...job, once: { token: `${token}§${i}`, hash, batch: { token: `${token}§batch`, at: i } } };
    }),
  );
  const chain = headers["minutehand-chain"];
  return each(log, wanted, async (these) =>
    enqueueManyCounted(ctx, chain === undefined ? these : await inChain(ctx, these, chain)),
  );
}

/** Throws `too-many-jobs`. */
export async function cancelJobs(
  { ctx, log }: Used,
  ids: readonly unknown[],
): Promise<(Head | MinutehandError)[]> {
  checkCount("ids", ids.length);
  const wanted = ids.map((id) => attempt(() => validate(jobId, id, "the id")));
  return each(log, wanted, (these) => cancelMany(ctx, these));
}

function checkCount(name: string, count: number): void {
  if (count <= BATCH_JOBS) return;
  throw new MinutehandError("too-many-jobs", `${name} must have at most ${BATCH_JOBS} entries, got ${count}`);
}

/** Answers a `MinutehandError` of `work`, and throws any other error. */
function attempt<T>(work: () => T): T | MinutehandError {
  try {
    return work();
  } catch (error) {
    if (error instanceof MinutehandError) return error;
    throw error;
  }
}

/** Calls `work` once with all valid entries, and logs troubles. */
async function each<T, R>(
  log: Service["log"],
  wanted: readonly (T | MinutehandError)[],
  work: (these: readonly T[]) => Promise<(R | MinutehandError)[]>,
): Promise<(R | MinutehandError)[]> {
  const valid = wanted.filter((one): one is T => !(one instanceof MinutehandError));
  const results = valid.length === 0 ? [] : await work(valid);
  let next = 0;
  const all = wanted.map((one) =>
    one instanceof MinutehandError ? one : (results[next++] as R | MinutehandError),
  );
  logTroubles(log, all);
  return all;
}

/** In an outage all entries have the same error, which is logged once. */
function logTroubles(log: Service["log"], results: readonly unknown[]): void {
  const troubles = results.filter(
    (result) => result instanceof MinutehandError && result.code === "unavailable",
  );
  for (const error of new Set(troubles.map(messageOf)))
    log.warn("jobs of a batch were not served", { error });
}
