import { CHANGES, type Row } from "../../core/states.ts";
import { code, table } from "../markdown.ts";

const ROWS: readonly (readonly [name: string, row: Row])[] = Object.entries(CHANGES);

/** The table of the changes of a job's state. */
export function states(): string {
  const rows = ROWS.map(([name, { from = "", to = from, by, when }]) => [
    code(name),
    code(from),
    code(to),
    by,
    when,
  ]);
  return table(["change", "from", "to", "who", "when"], rows);
}

/** The table of the attributes that each change of a stored home compares and writes. */
export function stateAttributes(): string {
  const list = (names: readonly string[] = []): string => names.map(code).join(" ");
  const rows = ROWS.filter(([, { from }]) => from !== undefined).map(([name, { asRead, sets, clears }]) => [
    code(name),
    ...[asRead, sets, clears].map(list),
  ]);
  return table(["change", "as read", "sets", "clears"], rows);
}
