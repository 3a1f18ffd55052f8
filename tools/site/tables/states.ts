import { CHANGES, type Row } from "../../../src/core/states.ts";
import { code, table } from "../markdown.ts";

export function states(): string {
  const rows = Object.entries<Row>(CHANGES).map(([name, { from = "", to = from, by, when }]) => [
    code(name),
    code(from),
    code(to),
    by,
    when,
  ]);
  return table(["change", "from", "to", "who", "when"], rows);
}
