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

/**
 * Formats lines of cells under the heads of their columns, without borders. Leaves a column out if all its cells are empty. The time
 * grows linearly with the lines, because a list may have hundreds of thousands.
 */
export function* tableOf<Row>(
  columns: readonly Column<Row>[],
  lines: readonly string[][],
  paint: Paint,
): Iterable<string> {
  const longest = columns.map(() => 0);
  for (const line of lines) {
    for (const [i, cell] of line.entries()) longest[i] = Math.max(longest[i] ?? 0, stringWidth(cell));
  }
  const filled = columns.flatMap(({ head, align }, i) =>
    longest[i] === 0 ? [] : [{ i, align, width: Math.max(longest[i] ?? 0, stringWidth(head)) }],
  );
  for (const line of [columns.map(({ head }) => paint("bold", head)), ...lines]) {
    const cells = filled.map(({ i, align, width }) => {
      const cell = line[i] ?? "";
      const room = " ".repeat(width - stringWidth(cell));
      return align === "right" ? room + cell : cell + room;
    });
    yield cells.join(BETWEEN).trimEnd();
  }
}
