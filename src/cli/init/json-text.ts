/** Changes of a JSON text that keep its order, indentation, line style and comments. */
import { isDeepStrictEqual } from "node:util";
import { objectAt, withoutComments } from "./json-tree.ts";

type Values = Readonly<Record<string, unknown>>;
type Path = readonly string[];

/** How the members of an object are written. */
type Style = {
  /** What stands before a key: the end of a line with the indentation, a space, or nothing. */
  readonly lead: string;
  readonly colon: string;
};

const KEY = /^"(?:\\.|[^"\\])*"/;

/** Changes a text with the values `before` so that it has the values `after`, which lack no key of `before`. */
export function withValues(text: string, before: Values, after: Values, path: Path = []): string {
  return Object.entries(after).reduce((changed, [key, value]) => {
    const old = before[key];
    if (isDeepStrictEqual(old, value)) return changed;
    if (isObject(old) && isObject(value)) return withValues(changed, old, value, [...path, key]);
    return key in before ? withValue(changed, path, key, value) : withMember(changed, path, key, value);
  }, text);
}

function withValue(text: string, path: Path, key: string, value: unknown): string {
  const member = objectAt(text, path)?.members.find((one) => one.key === key);
  if (member === undefined) return text;
  return text.slice(0, member.value.start) + JSON.stringify(value) + text.slice(member.value.end);
}

/** Adds a key to the end of the object at the path, in the style of the object. */
export function withMember(text: string, path: Path, key: string, value: unknown): string {
  const place = objectAt(text, path);
  if (place === undefined) return text;
  const style = styleOf(text, path);
  const { lead, colon } = style;
  const added = `${lead}${JSON.stringify(key)}${colon}${valueText(text, value, style)}`;
  const last = place.members.at(-1);
  const close = place.end - 1;
  if (last === undefined) {
    const tail = lead.replace(indentOf(text), "");
    return `${text.slice(0, close).trimEnd()}${added}${tail}${text.slice(close)}`;
  }
  const gap = text.slice(last.value.end, close);
  const hasComma = withoutComments(gap).includes(",");
  // A comment behind the last member stays there.
  const kept = gap.trimEnd();
  const behind = `${hasComma ? "," : ""}${gap.slice(kept.length)}${text.slice(close)}`;
  return `${text.slice(0, last.value.end)}${hasComma ? "" : ","}${kept}${added}${behind}`;
}

function styleOf(text: string, path: Path): Style {
  const place = objectAt(text, path);
  const last = place?.members.at(-1);
  if (place !== undefined && last !== undefined) {
    const colon = text.slice(last.start, last.value.start).replace(KEY, "");
    const [line] = /\r?\n[ \t]*$/.exec(text.slice(place.start, last.start)) ?? [];
    return { lead: line ?? colon.slice(1), colon };
  }
  if (path.length === 0) return { lead: `${lineEndOf(text)}${indentOf(text)}`, colon: ": " };
  const { lead, colon } = styleOf(text, path.slice(0, -1));
  return { lead: lead.includes("\n") ? lead + indentOf(text) : lead, colon };
}

function valueText(text: string, value: unknown, { lead, colon }: Style): string {
  if (lead.includes("\n") && isObject(value))
    return JSON.stringify(value, undefined, indentOf(text)).replaceAll("\n", lead);
  return colon === ":" ? JSON.stringify(value) : inLine(value);
}

/** One line with spaces, such as `{ "types": ["node", "jest"] }`. */
function inLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inLine).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${inLine(one)}`);
  return `{ ${members.join(", ")} }`;
}

export function lineEndOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The indentation of the first key, or of a text in one line two spaces. */
function indentOf(text: string): string {
  return /^\s*\{[^\S\n]*\n([ \t]+)/.exec(text)?.[1] ?? "  ";
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
