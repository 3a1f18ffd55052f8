import { ERROR_BYTES } from "../../core/constants.ts";
import { truncate } from "../../general/text.ts";
import type { Ending } from "../../protocol/run/settle.ts";
import type { Reply } from "./call.ts";

/** The longest time by which a receiver can put off a job's next attempt: ms. */
const LONGEST_RETRY_AFTER = 24 * 3_600_000;
/**
 * How many of a job's first attempts take `Retry-After` in place of the backoff, even if it is shorter. Later attempts take it only if it
 * is longer than the backoff. Otherwise a receiver that asks for one second in each answer would use up all attempts within seconds.
 */
const BELIEVED = 3;
/** A date as HTTP sends it ("Date/Time Formats", RFC 9110), such as `Sun, 01 Mar 2026 09:00:00 GMT`. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Answers how a run ended, by the reply of its receiver. `attempt`: the number of the run. `now`: ms since the epoch. */
export function outcomeOf({ status, retryAfter, body }: Reply, attempt: number, now: number): Ending {
  // rule: redirect-is-not-done
  if (status >= 200 && status < 300) return { end: "done" };
  const said = isRedirect(status) ? "redirects are not followed" : body;
  const error = receiverErrorText(`HTTP ${status}${said === "" ? "" : `: ${said}`}`);
  if (status === 410) return { end: "buried", error };
  const wait = status === 429 || status === 503 ? waitOf(retryAfter, now) : undefined;
  if (wait === undefined) return { end: "failed", error };
  return attempt <= BELIEVED
    ? { end: "failed", error, retryAfter: wait }
    : { end: "failed", error, notBefore: wait };
}

/** Puts the text of a receiver or of a failed call into the form of a job's `lastError`: on one line, and at most `ERROR_BYTES` long. */
export function receiverErrorText(text: string): string {
  return truncate(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim(), ERROR_BYTES);
}

/**
 * How many ms `Retry-After` asks to wait, at most `LONGEST_RETRY_AFTER`. `undefined`: the header is absent or malformed, is 0, or names a
 * date that has passed.
 */
function waitOf(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const wait = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1000
    : HTTP_DATE.test(retryAfter)
      ? Date.parse(retryAfter) - now
      : 0;
  return wait > 0 ? Math.min(wait, LONGEST_RETRY_AFTER) : undefined;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}
