import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DOCS, pages } from "./docs.ts";
import { fillTables } from "./markdown.ts";
import { alarms } from "./tables/alarms.ts";
import { calls, operations } from "./tables/calls.ts";
import { commands, options } from "./tables/commands.ts";
import { decisions } from "./tables/decisions.ts";
import { clientErrors, errors } from "./tables/errors.ts";
import { limits, times } from "./tables/limits.ts";
import { metrics } from "./tables/metrics.ts";
import { jobOptions, topicSettings } from "./tables/settings.ts";

/** Every table that is made from declarations, by its name in the page. */
export const TABLES: Readonly<Record<string, () => string>> = {
  alarms,
  calls,
  "client-errors": clientErrors,
  commands,
  decisions: () => decisions(DOCS),
  errors,
  "job-options": jobOptions,
  limits,
  metrics,
  operations,
  options,
  times,
  "topic-settings": topicSettings,
};

/** Writes each table into its page. */
export function writeTables(): void {
  for (const page of pages()) {
    const path = join(DOCS, page);
    const text = readFileSync(path, "utf8");
    const filled = fillTables(text, TABLES);
    if (filled !== text) writeFileSync(path, filled);
  }
}
