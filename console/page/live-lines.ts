import type { LiveLine } from "../live.ts";

/** How many lines the page keeps. */
const KEPT_LINES = 5000;

/** Which lines are shown. An empty field matches every line. */
export type LineFilter = { readonly topic: string; readonly job: string; readonly text: string };

/** Adds lines to those that are kept. */
export function withLines(lines: readonly LiveLine[], added: readonly LiveLine[]): readonly LiveLine[] {
  return [...lines, ...added].slice(-KEPT_LINES);
}

/** The lines that a filter matches. `job` may be the beginning of an id. Upper and lower case are the same in `job` and `text`. */
export function matchingLines(lines: readonly LiveLine[], { topic, job, text }: LineFilter): LiveLine[] {
  const [id, words] = [job.toLowerCase(), text.toLowerCase()];
  return lines.filter(
    (line) =>
      (topic === "" || line.topic === topic) &&
      `${line.job ?? ""} ${line.text}`.toLowerCase().includes(id) &&
      line.text.toLowerCase().includes(words),
  );
}

const OWN_CLOCK = /^\d\d:\d\d:\d\d\.\d{3}(?= {2})/;
/** The times that the stack writes into its own texts. */
const INNER_CLOCK = /(?<= {2}(?:enqueued, due|moved to) )(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3}/;

/**
 * The text of a line with its time on the reader's clock. The stack writes times on the clock of its own machine. So if the clocks
 * differ, a time inside of the text is marked as the stack's. `clock`: the line's `at` on the reader's clock, such as `12:00:05.004`.
 */
export function textOn(clock: string, { text }: Pick<LiveLine, "text">): string {
  const [own] = OWN_CLOCK.exec(text) ?? [];
  if (own === undefined || own === clock) return text;
  return `${clock}${text.slice(own.length)}`.replace(INNER_CLOCK, "$& (the stack's clock)");
}

/** The colour of a line: `bad` for what failed, `good` for what is done. */
export function kindOf({ text }: LiveLine): "bad" | "good" | "" {
  if (/ {2}(?:ERROR|WARN) {2}| {2}(?:failed|dead|threw|could not) |^warning/.test(text)) return "bad";
  return / {2}done in attempt /.test(text) ? "good" : "";
}
