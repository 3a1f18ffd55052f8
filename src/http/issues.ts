import type * as z from "zod/mini";
import { ERRORS_TOLD } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { quoted, truncate } from "../general/text.ts";

/** How many bytes of a refused value an error shows. */
const SHOWN = 60;
/** How many bytes of a path an error shows. */
const PATH_SHOWN = 120;
/** How many issues, and how many unknown names of one issue, `detail` tells. `errors` has more issues. */
const TOLD = 3;

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** The error text for schemas without one of their own. */
export function ruleOf(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "must be given" : `must be ${withArticle(issue.expected)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "invalid_union":
      return Array.isArray(issue.options) ? `must be one of ${issue.options.join(", ")}` : "is not valid";
    case "unrecognized_keys":
      return `has unknown ${named(issue.keys)}; allowed are ${knownOf(issue.inst)}`;
    case "invalid_key":
      return issue.issues[0]?.message ?? "has a name that is not allowed";
    default:
      return "is not valid";
  }
}

/** `where`: such as `the request`. */
export function refusal(found: readonly z.core.$ZodIssue[], input: unknown, where: string): MinutehandError {
  // zod reports a rule that is broken in several ways several times.
  const issues = [
    ...new Map(found.map((issue) => [`${issue.path.map(String)} ${issue.message}`, issue])).values(),
  ];
  const listed = issues.slice(0, ERRORS_TOLD);
  const errors = listed.map(({ path, message }) => ({ path: pathText(path), message }));
  const told = issues.slice(0, TOLD).map(({ path, message }) => {
    const subject = path.length === 0 ? where : pathText(path);
    if (message.startsWith("must ")) return `${subject} ${message}, got ${shown(valueAt(input, path))}`;
    return path.length === 0 && !message.startsWith("has ") ? message : `${subject} ${message}`;
  });
  const more = issues.length > TOLD ? `; and ${issues.length - TOLD} more` : "";
  const unlisted = issues.length - listed.length;
  const data = { errors, ...(unlisted > 0 && { moreErrors: unlisted }) };
  return new MinutehandError("bad-request", `${told.join("; ")}${more}`, data);
}

/** The caller chooses the names in a path, so they may be long. */
function pathText(path: readonly PropertyKey[]): string {
  return truncate(path.map(String).join("."), PATH_SHOWN);
}

/** A request of 3 MB can have more unknown names than fit into an answer. */
function named(keys: readonly string[]): string {
  const more = keys.length > TOLD ? ` and ${keys.length - TOLD} more` : "";
  return keys.slice(0, TOLD).map(shown).join(", ") + more;
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function knownOf(schema: unknown): string {
  const { shape = {} } = (schema as z.core.$ZodObject | undefined)?._zod.def ?? {};
  return Object.keys(shape).join(", ") || "none";
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[name];
  }
  return value;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "string" ? quoted(value, SHOWN) : String(value);
}
