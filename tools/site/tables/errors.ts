import type { ErrorCode } from "../../../src/core/errors.ts";
import { type ProblemCode, STATUS } from "../../../src/http/problem.ts";
import { code, table } from "../markdown.ts";

/** The meaning of each code. The type makes a code without a meaning a compile error. */
const MEANINGS: Readonly<Record<ProblemCode, string>> = {
  "bad-request":
    "The request breaks a rule, and `detail` names it. If fields of the request are at fault, `errors` lists the first ten rules, each with the path of its field, which may be a field that does not exist; it is absent for a body that is not JSON, a `callbackUrl`, a receipt, or a name that is given twice. Nothing was done.",
  "unknown-topic": "No topic of this name is deployed.",
  "job-not-found":
    "There is no such job, or it ended so long ago that it was deleted (`retention`, `deadRetention`).",
  "schedule-not-found": "There is no schedule of this name.",
  "not-found": "There is no such path.",
  "method-not-allowed": "The path does not take this method. The header `Allow` names those it takes.",
  "job-already-exists": "The key has a live job. `id` is the id of that job.",
  "job-running": "Too late to cancel or move: the job runs.",
  "job-finished": "Too late to cancel or move: the job has ended.",
  "job-not-dead": "Only a dead job can be dismissed. `state` says what the job is.",
  "untracked-topic":
    "The jobs of an untracked topic only run, are retried, or fail. `detail` names what was refused. See [untracked topics](tracking.md).",
  "not-a-pull-topic": "The topic is not a pull topic. `receive` and receipts are only for pull topics.",
  "runaway-chain":
    "The handlers of one chain have filed all jobs of this day that `maxFiledPerChain` allows. This call filed nothing. `first` is the id of the chain's first job, `generation` says how many handlers stand between that job and this one. See [chains](../guides/enqueue.md#jobs-that-file-jobs).",
  "claim-lost": "The claim of this receipt has ended. Stop the work.",
  "changed-meanwhile":
    "The job is not as `If-Match` says: somebody changed it since the caller saw it. Nothing was done. `revision` and the header `ETag` say the present revision.",
  "too-large": "The body or the request is larger than its [limit](limits-and-cost.md).",
  "too-many-jobs": "The batch has more jobs than its [limit](limits-and-cost.md) allows.",
  "idempotency-mismatch": "The `Idempotency-Key` was used with another request.",
  "too-many-filed":
    "The topic has taken all jobs of this minute that its setting `maxFiledPerMinute` allows. This call filed nothing. Repeat the call after the seconds in `retryAfter` and in the header `Retry-After`.",
  internal: "Minutehand failed with an internal error. Its log has the details.",
  unavailable:
    "An AWS service did not answer in time, or other calls kept changing the same job, key, schedule or pause. Nothing was acknowledged. Repeat the call. With an `Idempotency-Key`, a repeat files no second job, except in an untracked topic. With a `key`, it files none while the first job lives.",
};

const CLIENT_MEANINGS: Readonly<Record<Exclude<ErrorCode, ProblemCode>, string>> = {
  forbidden:
    "The answer is 401 or 403, or AWS refused a call of the direct client or worker: the credentials are missing, wrong or expired, or do not allow this call.",
  "bad-answer":
    "The answer is not what the API promises. The message says what was expected. A server that answers the same cursor twice also causes this error.",
};

/** The table of codes that the API answers, with their statuses. */
export function errors(): string {
  const codes = Object.keys(STATUS) as ProblemCode[];
  const rows = codes.map((name) => [code(name), String(STATUS[name]), MEANINGS[name]]);
  return table(["code", "status", "meaning"], rows);
}

/** The table of codes that only the TypeScript client gives. */
export function clientErrors(): string {
  return table(
    ["code", "meaning"],
    Object.entries(CLIENT_MEANINGS).map(([name, meaning]) => [code(name), meaning]),
  );
}
