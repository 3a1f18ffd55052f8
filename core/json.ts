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
 * The value of JSON text, each number exactly as written. Throws `bad-request` for text that is not JSON,
 * for a number that a double would alter, and for more than 100 levels of nesting.
 */
export function parseJson(text: string): unknown {
  checkDepth(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MinutehandError("bad-request", `the request must be JSON: ${(error as Error).message}`);
  }
  checkNumbers(text);
  return value;
}

/** Strings and numbers of a JSON text; a string is matched only so that digits inside it are passed over. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function checkNumbers(text: string): void {
  for (const [token] of text.matchAll(TOKENS)) {
    // Up to 15 significant digits a double holds, so that only long or scaled numbers need a closer look.
    if (token.startsWith('"') || (token.length <= 15 && !/[eE]/.test(token))) continue;
    if (!isExact(token)) {
      throw new MinutehandError(
        "bad-request",
        `a number must be one that a double holds exactly as written, got ${token.slice(0, 60)}; send it as a string`,
      );
    }
  }
}

/** Whether reading `token` as a double and writing it again names the same decimal number. */
export function isExact(token: string): boolean {
  const value = Number(token);
  return Number.isFinite(value) && canonical(token) === canonical(JSON.stringify(value));
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
          `JSON may be nested ${BODY_DEPTH} levels deep, this is deeper`,
        );
      }
    } else if (char === 0x5d || char === 0x7d) depth--;
  }
}
