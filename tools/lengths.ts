import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

/** A longer function needs a comment on the line above it that names its table or list: `// long: the table of routes`. */
const USUAL = 40;
/** No function may be longer. */
const MOST = 70;
const REASON = /^\s*\/\/ long: \S/;

export type Long = { readonly line: number; readonly lines: number };

/**
 * The functions of a module that are too long. A function's lines begin with its head and end with its closing brace. The callbacks
 * of `describe` do not count, because they are lists of tests.
 */
export function tooLong(path: string, text: string): Long[] {
  const rows = text.split("\n");
  const ends: number[] = [];
  for (const row of rows) ends.push((ends.at(-1) ?? -1) + row.length + 1);
  const rowOf = (offset: number): number => ends.findIndex((end) => offset <= end);
  const lists = new Set<number>();
  const found: Long[] = [];
  const add = ({ start, end }: { start: number; end: number }): void => {
    const row = rowOf(start);
    const lines = rowOf(end) - row + 1;
    const most = REASON.test(rows[row - 1] ?? "") ? MOST : USUAL;
    if (lines > most && !lists.has(start)) found.push({ line: row + 1, lines });
  };
  new Visitor({
    CallExpression: ({ callee, arguments: given }) => {
      if (/^describe\b/.test(text.slice(callee.start, callee.end)))
        for (const { start } of given) lists.add(start);
    },
    FunctionDeclaration: add,
    FunctionExpression: add,
    ArrowFunctionExpression: add,
  }).visit(parseSync(path, text).program);
  return found;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const rooms = process.argv.slice(2);
  const files = globSync("**/*.{ts,tsx}", {
    cwd: root,
    exclude: ["node_modules/**", "dist/**", "cdk.out/**", ".minutehand/**"],
  }).filter((file) => rooms.length === 0 || rooms.some((room) => file.startsWith(room)));
  for (const file of files.sort())
    for (const { line, lines } of tooLong(file, readFileSync(join(root, file), "utf8"))) {
      console.error(
        `${file}:${line}: a function has ${lines} lines, allowed are ${USUAL}, or ${MOST} for a table or list`,
      );
      process.exitCode = 1;
    }
}
