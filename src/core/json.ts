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
 * (a number that no double prints, a name that an object has twice), and for more than 100 levels of nesting.
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
        `a number must be one that a double prints with at most ${MOST_DIGITS} digits, got ${startOf(token)}; send it as a string`,
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

/** Says whether a double surely prints a number: at most 15 significant digits, no exponent. Other numbers need `isExact`. */
function isPlain(token: string): boolean {
  return token.length <= 15 && !/[eE]/.test(token);
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

const DECIMAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Every double has digits of its own among numbers of 17 significant digits. */
const MOST_DIGITS = 17;
/** A double that lies halfway between two numbers of 17 digits has 18 digits. So many digits show that no other digit follows them. */
const ALL_DIGITS = 40;

/**
 * Says whether a language can have printed `token` from a double: the double that `token` is read as, printed with as many significant digits as
 * `token` has, is `token`. Languages print 1 to 17 digits of a double, and round a half up or to the even digit. `-0` is stored as `0`, which equals it.
 */
export function isExact(token: string): boolean {
  const value = Number(token);
  if (!Number.isFinite(value)) return false;
  const { digits, exponent } = decimalOf(token);
  if (digits === "" || digits.length > MOST_DIGITS) return digits === "";
  const isPrinted = (count: number, expected: string, at: number): boolean => {
    const printed = decimalOf(value.toPrecision(count));
    return printed.digits === expected && printed.exponent === at;
  };
  if (isPrinted(digits.length, digits, exponent)) return true;
  // `toPrecision` rounds a half up. A half that was rounded down to an even digit is `token` with one more digit, a 5.
  return /[2468]$/.test(digits) && isPrinted(ALL_DIGITS, `${digits}5`, exponent - 1);
}

/** Answers a number without its sign as its digits times ten to the exponent, without leading or trailing zeros. 0 has no digits. */
function decimalOf(token: string): { readonly digits: string; readonly exponent: number } {
  const [, whole = "", fraction = "", exponent = "0"] = DECIMAL.exec(token) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  const scale = Number(exponent) - fraction.length + digits.length - significant.length;
  return { digits: significant, exponent: scale };
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
