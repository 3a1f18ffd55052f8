import Table from "cli-table3";
import type { Paint, Style } from "./output.ts";

/** A column of a table. Cells without a text are empty; `style` is for terminals. */
export type Column<Row> = {
  readonly head: string;
  readonly align?: "right";
  readonly text: (row: Row) => string | number | undefined;
  readonly style?: (row: Row) => Style | undefined;
};

const NO_BORDERS = {
  ...{ top: "", "top-mid": "", "top-left": "", "top-right": "", left: "", "left-mid": "", mid: "" },
  ...{ bottom: "", "bottom-mid": "", "bottom-left": "", "bottom-right": "", right: "", "right-mid": "" },
  ...{ "mid-mid": "", middle: "  " },
};

/** Lines of cells under their columns' heads, without borders. A column that no line fills is left out. */
export function tableOf<Row>(columns: readonly Column<Row>[], lines: string[][], paint: Paint): string {
  const isFilled = columns.map((_, i) => lines.some((line) => line[i] !== ""));
  const filled = <T>(cells: readonly T[]) => cells.filter((_, i) => isFilled[i]);
  const table = new Table({
    head: filled(columns).map(({ head }) => paint("bold", head)),
    chars: NO_BORDERS,
    colAligns: filled(columns).map(({ align }) => align ?? "left"),
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
  });
  table.push(...lines.map(filled));
  const written = table.toString().split("\n");
  return written.map((line) => line.trimEnd()).join("\n");
}
