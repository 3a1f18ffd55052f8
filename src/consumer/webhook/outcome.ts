import { ERROR_BYTES } from "../../core/constants.ts";
import { truncate } from "../../general/text.ts";
import type { Ending } from "../../protocol/run/settle.ts";
import type { Reply } from "./call.ts";

/** ms. */
const LONGEST_RETRY_AFTER = 24 * 3_600_000;
/** Later attempts take `Retry-After` only if it is longer than the backoff: a receiver that asks for one second could use up all attempts. */
const BELIEVED = 3;
/** "Date/Time Formats", RFC 9110. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** `attempt`: the number of the run. `now`: ms since the epoch. */
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

/** Makes a text fit for `lastError`: it is on one line, and at most `ERROR_BYTES` long. */
export function receiverErrorText(text: string): string {
  return truncate(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim(), ERROR_BYTES);
}

/** How long to wait by a `Retry-After` header, ms. `undefined`: the header is absent or malformed, is 0, or names a date that has passed. */
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
