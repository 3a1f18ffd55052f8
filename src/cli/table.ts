import stringWidth from "string-width";
import type { Paint, Style } from "./output.ts";

/** A column of a table. A cell without a text is empty. `style`: the style of the cell on a terminal. */
export type Column<Row> = {
  readonly head: string;
  readonly align?: "right";
  readonly text: (row: Row) => string | number | undefined;
  readonly style?: (row: Row) => Style | undefined;
};

const BETWEEN = "  ";

type Filled = { readonly i: number; readonly align: "right" | undefined; readonly width: number };

/** Before the columns that do not fit beside the first ones. */
const INDENT = "    ";

/**
 * Leaves out columns whose cells are all empty. Lines longer than `most` continue, indented, on the next one. The time grows linearly with
 * the lines, because a list may have hundreds of thousands.
 */
export function* tableOf<Row>(
  columns: readonly Column<Row>[],
  lines: readonly string[][],
  paint: Paint,
  most = Number.POSITIVE_INFINITY,
): Iterable<string> {
  const longest = columns.map(() => 0);
  for (const line of lines) {
    for (const [i, cell] of line.entries()) longest[i] = Math.max(longest[i] ?? 0, stringWidth(cell));
  }
  const filled = columns.flatMap(({ head, align }, i) =>
    longest[i] === 0 ? [] : [{ i, align, width: Math.max(longest[i] ?? 0, stringWidth(head)) }],
  );
  const parts = fold(filled, most);
  for (const line of [columns.map(({ head }) => paint("bold", head)), ...lines]) {
    for (const [n, part] of parts.entries()) {
      const cells = part.map(({ i, align, width }) => {
        const cell = line[i] ?? "";
        const room = " ".repeat(width - stringWidth(cell));
        return align === "right" ? room + cell : cell + room;
      });
      const text = cells.join(BETWEEN).trimEnd();
      if (n === 0) yield text;
      else if (text !== "") yield INDENT + text;
    }
  }
}

/** Divides the columns into parts of at most `most` characters. A wider column is a part of its own. */
function fold(columns: readonly Filled[], most: number): Filled[][] {
  const parts: Filled[][] = [[]];
  let used = 0;
  for (const column of columns) {
    const part = parts.at(-1) ?? [];
    if (part.length > 0 && used + BETWEEN.length + column.width > most) {
      parts.push([column]);
      used = INDENT.length + column.width;
    } else {
      used += (part.length > 0 ? BETWEEN.length : 0) + column.width;
      part.push(column);
    }
  }
  return parts;
}
