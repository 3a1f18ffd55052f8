import { truncate } from "../general/text.ts";
import { BODY_DEPTH } from "./constants.ts";
import { MinutehandError } from "./errors.ts";

// XML, which SQS checks messages by, has no such characters; lone surrogates JSON.stringify escapes itself.
const NOT_XML = /[\ufffe\uffff]/g;

/** JSON text that SQS takes: what it refuses stands as an escape, which means the same to any JSON reader. */
export function toJson(value: unknown): string {
  return escapeForSqs(JSON.stringify(value));
}

function escapeForSqs(json: string): string {
  return json.replace(NOT_XML, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
}

/**
 * The value of JSON text, just as written. Throws `bad-request` for text that is not JSON, for what reading it would alter
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

/** Of a JSON text all that matters here: strings, numbers, and where objects and lists begin, go on and end. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[[\]{},]/g;

/** An object or a list that is open. `at`: the name or the index that is being read. `names`: an object's so far. */
type Open = { at: string | number; names?: Set<string>; isName: boolean };

/** Checks text that is JSON for what reading it alters. */
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
    } else if (inner?.names && inner.isName) nameIn(open, inner, inner.names, token);
    else if (!token.startsWith('"') && !isPlain(token) && !isExact(token)) {
      throw altered(
        open,
        `a number must be one that a double holds exactly as written, got ${shortOf(token)}; send it as a string`,
      );
    }
  }
}

function nameIn(open: readonly Open[], inner: Open, names: Set<string>, token: string): void {
  inner.at = token.includes("\\") ? String(JSON.parse(token)) : token.slice(1, -1);
  if (names.has(inner.at))
    throw altered(open, "an object must have each name at most once, got this name twice");
  names.add(inner.at);
  inner.isName = false;
}

/** Up to 15 significant digits a double holds, so that only long or scaled numbers need a closer look. */
function isPlain(token: string): boolean {
  return token.length <= 15 && !/^-0|[eE]/.test(token);
}

/** The path may be as long as the request. */
const PATH_SHOWN = 120;

function altered(open: readonly Open[], rule: string): MinutehandError {
  const path = open.map(({ at }) => at).join(".");
  return new MinutehandError(
    "bad-request",
    `${path === "" ? "the request" : truncate(path, PATH_SHOWN)}: ${rule}`,
  );
}

function shortOf(token: string): string {
  return token.slice(0, 60);
}

/** Whether reading `token` as a double and writing it again names the same decimal number; `-0` is written `0`. */
export function isExact(token: string): boolean {
  const value = Number(token);
  return (
    Number.isFinite(value) && !Object.is(value, -0) && canonical(token) === canonical(JSON.stringify(value))
  );
}

/** `digits` and `exponent` of a decimal number, without leading or trailing zeros: equal for equal numbers. */
function canonical(token: string): string {
  const [mantissa = "", exponent = "0"] = token.replace("-", "").toLowerCase().split("e");
  // `1e-5`: the sign removed above is the number's own only if it leads.
  const scale = token.toLowerCase().includes("e-") ? -Math.abs(Number(exponent)) : Number(exponent);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const sign = token.startsWith("-") ? "-" : "";
  return `${sign}${significant}e${scale - fraction.length + digits.length - significant.length}`;
}

/** Deeper values overflow the stack of whoever writes them as text again. */
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
