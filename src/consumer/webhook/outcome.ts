import type { Ending } from "../../protocol/run/settle.ts";
import { oneLineError } from "../error-text.ts";
import type { Reply } from "./call.ts";
import { parseHttpDate } from "./http-date.ts";

/** ms. */
const LONGEST_RETRY_AFTER = 24 * 3_600_000;
/** Later attempts take `Retry-After` only if it is longer than the backoff: a receiver that asks for one second could use up all attempts. */
const BELIEVED = 3;
/** "At once", as 0 or a date that has passed asks for: ms. A receiver that is overloaded for a moment gets that moment. */
const SHORTEST_RETRY_AFTER = 1000;

/** `attempt`: the number of the run. `now`: ms since the epoch. */
export function outcomeOf({ status, retryAfter, body }: Reply, attempt: number, now: number): Ending {
  // rule: redirect-is-not-done
  if (status >= 200 && status < 300) return { end: "done" };
  const said = isRedirect(status) ? "redirects are not followed" : textOfAnswer(body);
  const error = oneLineError(`HTTP ${status}${said === "" ? "" : `: ${said}`}`);
  if (status === 410) return { end: "buried", error };
  const wait = status === 429 || status === 503 ? waitOf(retryAfter, now) : undefined;
  if (wait === undefined) return { end: "failed", error };
  return attempt <= BELIEVED
    ? { end: "failed", error, retryAfter: wait }
    : { end: "failed", error, notBefore: wait };
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  "#39": "'",
  "#x27": "'",
};

/** Answers the title of an HTML page, or else its text: the tags would use up the bytes of the error. Answers any other body unchanged. */
function textOfAnswer(body: string): string {
  if (!/^\s*<(!doctype html|html)\b/i.test(body)) return body;
  const [, title = ""] = /<title[^>]*>([^<]*)/i.exec(body) ?? [];
  const text = body.replace(/<(script|style)\b.*?(<\/\1[^>]*>?|$)/gis, " ").replace(/<[^>]*>?/g, " ");
  const shown = title.trim() === "" ? text : title;
  return shown
    .replace(/&(#?\w{2,5});/g, (entity, name: string) => ENTITIES[name.toLowerCase()] ?? entity)
    .trim();
}

/** How long to wait by a `Retry-After` header, ms. `undefined`: the header is absent or malformed. */
function waitOf(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const time = /^\d+$/.test(retryAfter) ? now + Number(retryAfter) * 1000 : parseHttpDate(retryAfter, now);
  if (time === undefined) return undefined;
  return Math.min(Math.max(time - now, SHORTEST_RETRY_AFTER), LONGEST_RETRY_AFTER);
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304;
}
