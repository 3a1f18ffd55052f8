import { styleText } from "node:util";
import { printable } from "../../local/printable.ts";
import { USUAL_COLUMNS } from "./progress.ts";
import type { Surroundings } from "./surroundings.ts";
import { type Column, tableOf } from "./table.ts";

export type Style = Parameters<typeof styleText>[0];

/** Adds the codes of a style to a text if stdout is a terminal with colours. */
export type Paint = (style: Style | undefined, text: string) => string;

/** Writes data to stdout and everything else to stderr. */
export type Output = {
  readonly json: boolean;
  readonly isTerminal: boolean;
  readonly width: number;
  document(value: unknown): Promise<void>;
  line(text: string): Promise<void>;
  /** Writes `value` as JSON with `--json`, and `text` without. */
  told(value: unknown, text: string): Promise<void>;
  /** Like `told`, with a text that is already printable and painted. */
  toldPainted(value: unknown, painted: string): Promise<void>;
  /** Writes a line for each name and value. Leaves undefined values out. */
  fields(
    values: Readonly<Record<string, unknown>>,
    styleOf?: (name: string) => Style | undefined,
  ): Promise<void>;
  /** Writes an empty line, and then a user's value as JSON on several lines. */
  value(value: unknown): Promise<void>;
  /** Writes each entry as a line of JSON, or all entries as a table. Notes `none` if a table would have no entry, and then answers false. */
  entries<Row>(
    rows: AsyncIterable<Row> | Iterable<Row>,
    columns: Column<Row>[],
    none: string,
  ): Promise<boolean>;
  note(text: string): void;
  readonly paint: Paint;
};

export function createOutput(
  { stdout, stderr, env, endUnread }: Surroundings,
  { json, color }: { json: boolean; color: boolean },
): Output {
  const isTerminal = stdout.isTTY === true;
  const width = stdout.columns || USUAL_COLUMNS;
  const paint = color && isTerminal && !env.NO_COLOR && env.TERM !== "dumb" ? paintText : leaveText;
  // Wait for a slow reader, so that a long list does not pile up in memory.
  const line = (text: string) => new Promise<void>((resolve) => void stdout.write(`${text}\n`, resolve));
  const lines = async (texts: Iterable<string>): Promise<void> => {
    for (const text of texts) await line(text);
  };
  // JSON leaves some characters unescaped that control a terminal.
  const document = (value: unknown) => line(printable(JSON.stringify(value)));
  return {
    json,
    isTerminal,
    width,
    document,
    line,
    told: (value, text) => (json ? document(value) : line(printable(text))),
    toldPainted: (value, painted) => (json ? document(value) : line(painted)),
    fields: (values, styleOf) => lines(fieldLines(values, paint, styleOf)),
    value: (value) =>
      line(["", ...JSON.stringify(value, undefined, 2).split("\n").map(printable)].join("\n")),
    async entries(rows, columns, none) {
      endUnread();
      const cells: string[][] = [];
      for await (const row of rows)
        if (json) await document(row);
        else cells.push(cellsOf(row, columns, paint));
      if (json) return true;
      if (cells.length === 0) stderr.write(`${none}\n`);
      else await lines(tableOf(columns, cells, paint, isTerminal ? width : undefined));
      return cells.length > 0;
    },
    note: (text) => void stderr.write(`${printable(text)}\n`),
    paint,
  };
}

const paintText: Paint = (style, text) =>
  style !== undefined && text !== "" ? styleText(style, text, { validateStream: false }) : text;
const leaveText: Paint = (_, text) => text;

function fieldLines(
  values: Readonly<Record<string, unknown>>,
  paint: Paint,
  styleOf: (name: string) => Style | undefined = () => undefined,
): string[] {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const longest = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => {
    const text = printable(typeof value === "string" ? value : JSON.stringify(value));
    return `${paint("bold", name.padEnd(longest))}  ${paint(styleOf(name), text)}`;
  });
}

function cellsOf<Row>(row: Row, columns: readonly Column<Row>[], paint: Paint): string[] {
  return columns.map(({ text, style }) => paint(style?.(row), printable(`${text(row) ?? ""}`)));
}
