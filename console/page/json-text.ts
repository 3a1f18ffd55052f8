import { type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** A mistake in JSON text. Lines and columns count from 1. */
export type JsonMistake = { readonly line: number; readonly column: number; readonly text: string };

export type ReadJson = { readonly value: unknown } | { readonly mistakes: readonly JsonMistake[] };

/** Reads JSON, or says in which lines the text is not JSON. Comments and trailing commas are mistakes. */
export function readJson(text: string): ReadJson {
  const errors: ParseError[] = [];
  parseTree(text, errors, { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false });
  if (errors.length === 0) {
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

function placeOf(text: string, offset: number): { line: number; column: number } {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
