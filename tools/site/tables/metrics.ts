import { METRICS } from "../../../src/settings/metrics.ts";
import { code, table } from "../markdown.ts";

export function metrics(): string {
  const rows = Object.entries(METRICS).map(([name, { unit, by, meaning }]) => [
    code(name),
    unit,
    by === "topic" ? code("topic") : "",
    meaning,
  ]);
  return table(["metric", "unit", "by", "meaning"], rows);
}
