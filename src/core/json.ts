import { truncate } from "../general/text.ts";
import { BODY_BYTES, BODY_DEPTH } from "./constants.ts";
import { MinutehandError } from "./errors.ts";

// SQS refuses characters that XML does not have. JSON.stringify itself escapes lone surrogates.
const NOT_XML = /[\ufffe\uffff]/g;

/** Converts a value to JSON text that SQS accepts: characters that SQS refuses are escaped. A JSON reader gets the same value. */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(NOT_XML, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
}

/** Converts a job's body to the JSON text that is stored. Throws `too-large`. */
export function bodyText(body: unknown): string {
  const text = toJson(body);
  const bytes = Buffer.byteLength(text);
  // rule: body-stored-as-given
  if (bytes <= BODY_BYTES) return text;
  throw new MinutehandError(
    "too-large",
    `a body must have at most ${BODY_BYTES} bytes (${BODY_BYTES / 1024} KiB) of JSON, got ${bytes}; keep larger data in S3 and send its address`,
  );
}

/**
 * Parses JSON text without altering any value. Throws `bad-request` for text that is not JSON, for values that parsing would alter
 * (a number that a double does not hold, `-0`, a name that an object has twice), and for more than 100 levels of nesting.
 */
export function parseJson(text: string): unknown {
  checkDepth(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MinutehandError("bad-request", `the request must be JSON: ${(error as Error).message}`);
  }
  checkTokens(text);
  return value;
}

/** Strings, numbers, brackets, braces and commas. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[[\]{},]/g;

/** An object or list that is not closed yet. `at`: the name or index that is being read. `names`: the names of an object so far. */
type Open = { at: string | number; names?: Set<string>; isName: boolean };

/** Throws if parsing would alter a number or lose a name of this JSON text. */
function checkTokens(text: string): void {
  const open: Open[] = [];
  for (const [token] of text.matchAll(TOKENS)) {
    const inner = open.at(-1);
    if (token === "{") open.push({ at: "", names: new Set(), isName: true });
    else if (token === "[") open.push({ at: 0, isName: false });
    else if (token === "}" || token === "]") open.pop();
    else if (token === ",") {
      if (inner?.names) inner.isName = true;
      else if (inner) inner.at = Number(inner.at) + 1;
    } else if (inner?.names && inner.isName) readName(open, inner, inner.names, token);
    else if (!token.startsWith('"') && !isPlain(token) && !isExact(token)) {
      throw alteredError(
        open,
        `a number must be one that a double holds exactly as written, got ${startOf(token)}; send it as a string`,
      );
    }
  }
}

function readName(open: readonly Open[], inner: Open, names: Set<string>, token: string): void {
  inner.at = token.includes("\\") ? String(JSON.parse(token)) : token.slice(1, -1);
  if (names.has(inner.at))
    throw alteredError(open, "an object must have each name at most once, got this name twice");
  names.add(inner.at);
  inner.isName = false;
}

/** Says whether a double surely holds a number: at most 15 significant digits, no exponent. Other numbers need `isExact`. */
function isPlain(token: string): boolean {
  return token.length <= 15 && !/^-0|[eE]/.test(token);
}

/** How many bytes of a path an error shows. A path may be as long as the request. */
const PATH_SHOWN = 120;

function alteredError(open: readonly Open[], rule: string): MinutehandError {
  const path = open.map(({ at }) => at).join(".");
  return new MinutehandError(
    "bad-request",
    `${path === "" ? "the request" : truncate(path, PATH_SHOWN)}: ${rule}`,
  );
}

function startOf(token: string): string {
  return token.slice(0, 60);
}

/** Says whether `token`, read as a double and written again, is the same decimal number. `-0` is not: it is written `0`. */
export function isExact(token: string): boolean {
  const value = Number(token);
  return (
    Number.isFinite(value) && !Object.is(value, -0) && canonical(token) === canonical(JSON.stringify(value))
  );
}

/** Answers a decimal number as `<digits>e<exponent>`, without leading or trailing zeros. Equal numbers give equal text. */
function canonical(token: string): string {
  const [mantissa = "", exponent = "0"] = token.replace("-", "").toLowerCase().split("e");
  // In `1e-5` the sign that was removed above is the exponent's.
  const scale = token.toLowerCase().includes("e-") ? -Math.abs(Number(exponent)) : Number(exponent);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const sign = token.startsWith("-") ? "-" : "";
  return `${sign}${significant}e${scale - fraction.length + digits.length - significant.length}`;
}

/** Throws `bad-request` for JSON text that is nested too deep: writing such a value as text again would overflow the stack. */
function checkDepth(text: string): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 0x5c) i++;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > BODY_DEPTH) {
        throw new MinutehandError(
          "bad-request",
          `JSON must be nested at most ${BODY_DEPTH} levels deep, got more`,
        );
      }
    } else if (char === 0x5d || char === 0x7d) depth--;
  }
}
