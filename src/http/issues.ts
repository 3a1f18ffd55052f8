import type * as z from "zod/mini";
import { ERRORS_TOLD } from "../core/constants.ts";
import { MinutehandError } from "../core/errors.ts";
import { quoted, truncate } from "../general/text.ts";
import { hint } from "../general/unknown-names.ts";

/** How many bytes of a refused value an error shows. */
const SHOWN = 60;
/** How many bytes of a path an error shows. */
const PATH_SHOWN = 120;
/** How many issues, and how many unknown names of one issue, `detail` tells. `errors` has more issues. */
const TOLD = 3;
/** No field has a longer name. The time to find the nearest name grows with a name's length. */
const LONGEST_NAME = 50;
/** What `where` is for the headers of a request. */
export const HEADERS = "the headers";

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** The error text for schemas without one of their own. Of unknown names: the known ones, from which `refusal` makes the text. */
export function ruleOf(issue: RawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "must be given" : `must be ${withArticle(issue.expected)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "invalid_union":
      return Array.isArray(issue.options) ? `must be one of ${issue.options.join(", ")}` : "is not valid";
    case "unrecognized_keys":
      return knownOf(issue.inst).join(", ");
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
  const broken = issues.flatMap(oneForEachName);
  const listed = broken.slice(0, ERRORS_TOLD);
  const errors = listed.map(({ issue, name }) => fieldError(issue, name));
  const told = issues.slice(0, TOLD).map((issue) => sentence(issue, input, where));
  const more = issues.length > TOLD ? `; and ${issues.length - TOLD} more` : "";
  const unlisted = broken.length - listed.length;
  const data = { errors, ...(unlisted > 0 && { moreErrors: unlisted }) };
  return new MinutehandError("bad-request", `${told.join("; ")}${more}`, data);
}

type Broken = { readonly issue: z.core.$ZodIssue; readonly name?: string };

function oneForEachName(issue: z.core.$ZodIssue): Broken[] {
  return issue.code === "unrecognized_keys" ? issue.keys.map((name) => ({ issue, name })) : [{ issue }];
}

/** `name`: an unknown one. */
function fieldError({ path, message }: z.core.$ZodIssue, name?: string): { path: string; message: string } {
  if (name === undefined) return { path: pathText(path), message };
  return { path: pathText([...path, name]), message: `is unknown${hintFor(name, namesIn(message))}` };
}

function sentence(issue: z.core.$ZodIssue, input: unknown, where: string): string {
  const { path, message } = issue;
  const subject = path.length === 0 ? where : pathText(path);
  if (issue.code === "unrecognized_keys")
    return `${subject} has unknown ${named(issue.keys, namesIn(message))}; allowed are ${message || "none"}`;
  const value = valueAt(input, path);
  if (message.startsWith("must "))
    return `${subject} ${message}, got ${where === HEADERS ? bare(value) : shown(value)}`;
  return path.length === 0 && !message.startsWith("has ") ? message : `${subject} ${message}`;
}

/** The caller chooses the names in a path, so they may be long. */
function pathText(path: readonly PropertyKey[]): string {
  return truncate(path.map(String).join("."), PATH_SHOWN);
}

/** A request of 3 MB can have more unknown names than fit into an answer. */
function named(names: readonly string[], known: readonly string[]): string {
  const more = names.length > TOLD ? ` and ${names.length - TOLD} more` : "";
  const told = names.slice(0, TOLD).map((name) => shown(name) + hintFor(name, known));
  return told.join(", ") + more;
}

function hintFor(name: string, known: readonly string[]): string {
  if (known.length === 0 || name.length > LONGEST_NAME) return "";
  return hint(name, known);
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function knownOf(schema: unknown): string[] {
  const { shape = {} } = (schema as z.core.$ZodObject | undefined)?._zod.def ?? {};
  return Object.keys(shape);
}

function namesIn(message: string): string[] {
  return message === "" ? [] : message.split(", ");
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[name];
  }
  return value;
}

export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "string" ? quoted(value, SHOWN) : String(value);
}

/** A header without quotes of ours, because entity tags have quotes of their own. */
function bare(value: unknown): string {
  const isPlain = typeof value === "string" && value.length <= SHOWN && /^[!-~]([ -~]*[!-~])?$/.test(value);
  return isPlain ? value : shown(value);
}
