import { styleText } from "node:util";
import { printable } from "../local/printable.ts";
import type { Surroundings } from "./surroundings.ts";
import { type Column, tableOf } from "./table.ts";

export type Style = Parameters<typeof styleText>[0];

/** Text as a terminal shows it, where somebody looks; else the text. */
export type Paint = (style: Style | undefined, text: string) => string;

/** Data goes to stdout, all else to stderr. */
export type Output = {
  /** Whether a program reads: then stdout has nothing but JSON. */
  readonly json: boolean;
  /** Whether somebody looks at stdout. */
  readonly isTerminal: boolean;
  /** Characters of a line, where somebody looks. */
  readonly width: number;
  /** A line of JSON. */
  document(value: unknown): Promise<void>;
  /** Lines for people. */
  line(text: string): Promise<void>;
  /** A line of JSON for a program, else one for people. */
  told(value: unknown, text: string): Promise<void>;
  /** The same with a text that is printable but for its colours. */
  toldPainted(value: unknown, painted: string): Promise<void>;
  /** A line for each name and its value; none where that is undefined. */
  fields(
    values: Readonly<Record<string, unknown>>,
    styleOf?: (name: string) => Style | undefined,
  ): Promise<void>;
  /** A user's value, on lines of its own, after an empty one. */
  value(value: unknown): Promise<void>;
  /** Entries as they come: a line of JSON each, or all in a table; `none` is said where there are none. */
  entries<Row>(rows: AsyncIterable<Row> | Iterable<Row>, columns: Column<Row>[], none: string): Promise<void>;
  /** A message, on stderr. */
  note(text: string): void;
  readonly paint: Paint;
};

const DEFAULT_WIDTH = 80;

export function createOutput(
  { stdout, stderr, env, endUnread }: Surroundings,
  { json, color }: { json: boolean; color: boolean },
): Output {
  const isTerminal = stdout.isTTY === true;
  const isPainted = color && isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  const paint: Paint = (style, text) =>
    isPainted && style !== undefined && text !== ""
      ? styleText(style, text, { validateStream: false })
      : text;
  // Whoever reads slowly is waited for, so that a long list is not held in memory.
  const line = (text: string) => new Promise<void>((resolve) => void stdout.write(`${text}\n`, resolve));
  // What JSON has no need to escape, a terminal may have.
  const document = (value: unknown) => line(printable(JSON.stringify(value)));
  return {
    json,
    isTerminal,
    width: stdout.columns ?? DEFAULT_WIDTH,
    document,
    line,
    told: (value, text) => (json ? document(value) : line(printable(text))),
    toldPainted: (value, painted) => (json ? document(value) : line(painted)),
    async fields(values, styleOf = () => undefined) {
      const given = Object.entries(values).filter(([, value]) => value !== undefined);
      const longest = Math.max(...given.map(([name]) => name.length));
      for (const [name, value] of given) {
        const text = printable(typeof value === "string" ? value : JSON.stringify(value));
        await line(`${paint("bold", name.padEnd(longest))}  ${paint(styleOf(name), text)}`);
      }
    },
    async value(value) {
      const lines = JSON.stringify(value, undefined, 2).split("\n");
      await line(["", ...lines.map(printable)].join("\n"));
    },
    async entries(rows, columns, none) {
      endUnread();
      const lines: string[][] = [];
      for await (const row of rows) {
        if (json) await document(row);
        else
          lines.push(columns.map(({ text, style }) => paint(style?.(row), printable(`${text(row) ?? ""}`))));
      }
      if (json) return;
      if (lines.length === 0) stderr.write(`${none}\n`);
      else for (const text of tableOf(columns, lines, paint)) await line(text);
    },
    note: (text) => void stderr.write(`${printable(text)}\n`),
    paint,
  };
}
