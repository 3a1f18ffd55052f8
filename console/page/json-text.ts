import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { isExact } from "../../src/core/json.ts";

/** A mistake in JSON text. Lines and columns count from 1. */
export type JsonMistake = { readonly line: number; readonly column: number; readonly text: string };

export type ReadJson = { readonly value: unknown } | { readonly mistakes: readonly JsonMistake[] };

/**
 * Reads JSON, or says in which lines the text is not JSON. Comments and trailing commas are mistakes. So is what the API would refuse if it saw
 * the text: a number that no double prints, and a name that an object has twice.
 */
export function readJson(text: string): ReadJson {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, {
    disallowComments: true,
    allowTrailingComma: false,
    allowEmptyContent: false,
  });
  if (errors.length === 0) {
    const altered = tree === undefined ? [] : alteredIn(tree, text);
    if (altered.length > 0) return { mistakes: altered };
    try {
      return { value: JSON.parse(text) };
    } catch (error) {
      return { mistakes: [{ line: 1, column: 1, text: String(error) }] };
    }
  }
  // Of several mistakes at one place, the first names the cause.
  const first = errors.filter(
    ({ offset }, index) => errors.findIndex((other) => other.offset === offset) === index,
  );
  return {
    mistakes: first.map(({ error, offset }) => ({
      ...placeOf(text, offset),
      text: printParseErrorCode(error)
        .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
        .toLowerCase(),
    })),
  };
}

/** The places at which reading the text would alter a number or lose a name. */
function alteredIn({ type, offset, length, children = [] }: Node, text: string): JsonMistake[] {
  if (type === "number" && !isExact(text.slice(offset, offset + length)))
    return [{ ...placeOf(text, offset), text: "no double prints this number: write it as a string" }];
  const names = type === "object" ? children.flatMap(({ children: [name] = [] }) => name ?? []) : [];
  const seen = new Set<unknown>();
  const twice = names.filter(({ value }) => seen.size === seen.add(value).size);
  return [
    ...twice.map((name) => ({ ...placeOf(text, name.offset), text: "the object has this name twice" })),
    ...children.flatMap((child) => alteredIn(child, text)),
  ];
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
