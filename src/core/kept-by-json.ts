import { BODY_DEPTH } from "./constants.ts";
import { MinutehandError } from "./errors.ts";

/** `path`: the names and indexes that lead to the value, the last one first. */
type Lost = { readonly path: string[]; readonly what: string };

/** Throws `bad-request` for a request with a value that JSON would silently alter, and names the path of the value. */
export function assertKeptByJson(request: object): void {
  const lost = lostByJson(request);
  if (lost === undefined) return;
  throw new MinutehandError("bad-request", `${lost.at} must be a value that JSON keeps, got ${lost.what}`);
}

/**
 * The first value that JSON would silently alter, and its path. Three changes are allowed, because a reader sees the same: a field that is
 * `undefined` is left out, -0 becomes 0, and an instance of a class becomes its own fields.
 */
export function lostByJson(request: object): { readonly at: string; readonly what: string } | undefined {
  const lost = lostIn(request, "", []);
  return lost && { at: lost.path.reverse().join("."), what: lost.what };
}

function lostIn(given: unknown, name: string | number, above: object[]): Lost | undefined {
  // Most values are one of these.
  if (typeof given === "string" || typeof given === "boolean" || given === null) return undefined;
  const value = hasToJson(given) ? given.toJSON(String(name)) : given;
  const what = whatIsLost(given, value);
  if (what !== undefined) return { path: [], what };
  if (typeof value !== "object" || value === null) return undefined;
  // JSON itself refuses a circular structure, and the API a request that is nested too deep.
  if (above.includes(value) || above.length > BODY_DEPTH) return undefined;
  above.push(value);
  const lost = Array.isArray(value)
    ? lostInArray(value, above)
    : lostInFields(value as Readonly<Record<string, unknown>>, above);
  above.pop();
  return lost;
}

function lostInArray(values: readonly unknown[], above: object[]): Lost | undefined {
  for (let i = 0; i < values.length; i++) {
    const lost = values[i] === undefined ? { path: [], what: "undefined" } : lostIn(values[i], i, above);
    if (lost) return at(String(i), lost);
  }
  return undefined;
}

function lostInFields(fields: Readonly<Record<string, unknown>>, above: object[]): Lost | undefined {
  for (const name of Object.keys(fields)) {
    const lost = lostIn(fields[name], name, above);
    if (lost) return at(name, lost);
  }
  for (const symbol of Object.getOwnPropertySymbols(fields)) {
    if (!Object.prototype.propertyIsEnumerable.call(fields, symbol)) continue;
    return { path: [], what: `an object with the name ${String(symbol)}` };
  }
  return undefined;
}

function at(name: string, lost: Lost): Lost {
  lost.path.push(name);
  return lost;
}

/** JSON asks objects and bigints only. */
function hasToJson(value: unknown): value is { toJSON(name: string): unknown } {
  if (typeof value !== "bigint" && (typeof value !== "object" || value === null)) return false;
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

/** Describes a value that JSON would alter; `undefined` for other values. `value`: what the `toJSON` of `given` answered, or `given`. */
function whatIsLost(given: unknown, value: unknown): string | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? undefined : String(value);
    case "bigint":
    case "function":
    case "symbol":
      return `a ${typeof value}`;
    case "object":
      return value === null ? whatIsNull(given) : whatIsHidden(value);
    default:
      return undefined;
  }
}

/** An invalid Date becomes `null`, and so do the invalid times of libraries. */
function whatIsNull(given: unknown): string | undefined {
  return Number.isNaN((given as object).valueOf()) ? "an invalid Date" : undefined;
}

/** A built-in object such as a Map keeps its content where JSON does not see it. Works for objects of another realm too. */
function whatIsHidden(value: object): string | undefined {
  if (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) return undefined;
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind === "Object") return undefined;
  return `${/^[AEIO]/.test(kind) ? "an" : "a"} ${kind}`;
}
