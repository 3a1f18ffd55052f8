import { DETAIL_BYTES, PAGE_BYTES } from "../core/constants.ts";
import { answerBytes, truncate } from "../general/text.ts";
import type { JobSummary } from "./answers/jobs.ts";
import type { Problem } from "./answers/problem.ts";

/** The answer to one entry of a batch. */
type Result = { readonly status: number } & ({ readonly job: JobSummary } | { readonly error: Problem });

/** The fields of a job that can be long. */
const LONG = ["callbackUrl", "headers", "lastError"] as const;
const SHORT_DETAIL = DETAIL_BYTES / 4;

/**
 * Makes the results of a batch fit into an answer of Lambda: their jobs were already filed or cancelled. When `PAGE_BYTES` are used up, further
 * results leave out what can be long.
 */
export function fitResults<R extends Result>(results: readonly R[]): R[] {
  let bytes = 0;
  return results.map((result) => {
    const short = shortened(result);
    if (!short) return result;
    bytes += answerBytes(result);
    return bytes <= PAGE_BYTES ? result : short;
  });
}

/** `undefined`: nothing in the result can be long. */
function shortened<R extends Result>(result: R): R | undefined {
  if ("error" in result) {
    const { errors, moreErrors = 0, detail, ...problem } = result.error;
    if (!errors && detail.length <= SHORT_DETAIL) return undefined;
    const more = errors ? { moreErrors: errors.length + moreErrors } : {};
    return { ...result, error: { ...problem, ...more, detail: truncate(detail, SHORT_DETAIL) } };
  }
  const leftOut = LONG.filter((name) => result.job[name] !== undefined);
  if (leftOut.length === 0) return undefined;
  const { callbackUrl: _, headers: __, lastError: ___, ...job } = result.job;
  return { ...result, job: { ...job, leftOut } };
}
