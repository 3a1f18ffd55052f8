import type { LiveLine } from "../live.ts";

const KEPT_LINES = 5000;

/** Which lines are shown. An empty field matches every line. */
export type LineFilter = { readonly topic: string; readonly job: string; readonly text: string };

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
const INNER_CLOCK = /(?<= {2}(?:enqueued, due|moved to) )(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{3}/;

/** If the clocks differ, times inside the text are marked as the stack's. `clock`: the line's `at` on the reader's, `12:00:05.004`. */
export function textOn(clock: string, { text }: Pick<LiveLine, "text">): string {
  const [own] = OWN_CLOCK.exec(text) ?? [];
  if (own === undefined || own === clock) return text;
  return `${clock}${text.slice(own.length)}`.replace(INNER_CLOCK, "$& (the stack's clock)");
}

export function kindOf({ text }: Pick<LiveLine, "text">): "bad" | "good" | "" {
  if (/ {2}(?:ERROR|WARN) {2}| {2}(?:failed|dead|threw|could not) | {2}warning: /.test(text)) return "bad";
  return / {2}done in attempt /.test(text) ? "good" : "";
}
