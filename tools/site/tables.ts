import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { openapiDocument } from "../../src/http/openapi.ts";
import { routes } from "../../src/http/route-table.ts";
import { configSchema } from "./config-schema.ts";
import { dashboardPicture } from "./dashboard-picture.ts";
import { DOCS, pages } from "./docs.ts";
import { fillTables } from "./markdown.ts";
import { statesPicture } from "./states-picture.ts";
import { alarms } from "./tables/alarms.ts";
import { bill } from "./tables/bill.ts";
import { calls, operations } from "./tables/calls.ts";
import { commands, options } from "./tables/commands.ts";
import { created } from "./tables/created.ts";
import { decisions } from "./tables/decisions.ts";
import { deploymentRights } from "./tables/deployment-rights.ts";
import { clientErrors, errors } from "./tables/errors.ts";
import { limits, times } from "./tables/limits.ts";
import { madProducer } from "./tables/mad-producer.ts";
import { metrics } from "./tables/metrics.ts";
import { price } from "./tables/price.ts";
import { SCALE_TABLES } from "./tables/scale.ts";
import { jobOptions, topicSettings } from "./tables/settings.ts";
import { states } from "./tables/states.ts";

/** Every table that is made from declarations, by its name in the page. */
export const TABLES: Readonly<Record<string, () => string>> = {
  alarms,
  bill,
  calls,
  "client-errors": clientErrors,
  commands,
  created,
  decisions: () => decisions(DOCS),
  "deployment-rights": deploymentRights,
  errors,
  "job-options": jobOptions,
  limits,
  "mad-producer": madProducer,
  metrics,
  operations,
  options,
  price,
  times,
  ...SCALE_TABLES,
  states,
  "topic-settings": topicSettings,
};

export const OPENAPI = join(DOCS, "reference", "openapi.json");

export function openapiText(): string {
  return `${JSON.stringify(openapiDocument(routes, packageJson.version), undefined, 2)}\n`;
}

/** The JSON Schema of the file that `minutehand template` reads. */
export const CONFIG_SCHEMA = join(DOCS, "reference", "minutehand.schema.json");

export function configSchemaText(): string {
  return `${JSON.stringify(configSchema(), undefined, 2)}\n`;
}

export const DASHBOARD_PICTURE = join(DOCS, "pictures", "dashboard.svg");

export const STATES_PICTURE = join(DOCS, "pictures", "states.svg");

export function writeTables(): void {
  writeFileSync(OPENAPI, openapiText());
  writeFileSync(CONFIG_SCHEMA, configSchemaText());
  writeFileSync(DASHBOARD_PICTURE, dashboardPicture());
  writeFileSync(STATES_PICTURE, statesPicture());
  for (const page of pages()) {
    const path = join(DOCS, page);
    const text = readFileSync(path, "utf8");
    const filled = fillTables(text, TABLES);
    if (filled !== text) writeFileSync(path, filled);
  }
}
