import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CONFIG_NAMES, TARGET_NAMES } from "../../infra/plain/config.ts";
import { SETTINGS } from "../../src/settings/topic-settings.ts";
import { dashboardPicture } from "../../tools/site/dashboard-picture.ts";
import { DOCS, pages } from "../../tools/site/docs.ts";
import { fillTables, table, tablesIn } from "../../tools/site/markdown.ts";
import { statesPicture } from "../../tools/site/states-picture.ts";
import { resourcesOf, stays } from "../../tools/site/tables/created.ts";
import {
  CONFIG_SCHEMA,
  configSchemaText,
  DASHBOARD_PICTURE,
  OPENAPI,
  openapiText,
  STATES_PICTURE,
  TABLES,
} from "../../tools/site/tables.ts";

const texts = pages().map((page) => ({ page, text: readFileSync(join(DOCS, page), "utf8") }));

test("each table is in a page", () => {
  expect(texts.flatMap(({ text }) => tablesIn(text)).sort()).toEqual(Object.keys(TABLES).sort());
});

test.each(texts.filter(({ text }) => tablesIn(text).length > 0))(
  "$page says what the declarations say; `npm run docs` writes it",
  ({ text }) => {
    expect(text).toBe(fillTables(text, TABLES));
  },
);

test("the OpenAPI document is that of the routes; `npm run docs` writes it", () => {
  expect(readFileSync(OPENAPI, "utf8")).toBe(openapiText());
});

test("the JSON Schema is that of what `minutehand template` reads; `npm run docs` writes it", () => {
  const text = readFileSync(CONFIG_SCHEMA, "utf8");
  expect(text).toBe(configSchemaText());
  const { properties, definitions } = JSON.parse(text);
  expect(Object.keys(properties).sort()).toEqual([...CONFIG_NAMES].sort());
  expect(Object.keys(properties.targets.additionalProperties.properties)).toEqual(TARGET_NAMES);
  expect(Object.keys(definitions.topic.properties)).toEqual(SETTINGS.map(([name]) => name));
  const [{ pattern }] = properties.eventBus.oneOf;
  expect(["orders", "arn:x"].map((name) => new RegExp(pattern).test(name))).toEqual([true, false]);
  for (const { description } of [properties.prefix, properties.targets, definitions.topic.properties.ttr])
    expect(description).toMatch(/^[A-Z]/);
});

test("the picture of the dashboard is that of the construct; `npm run docs` writes it", () => {
  expect(readFileSync(DASHBOARD_PICTURE, "utf8")).toBe(dashboardPicture());
});

test("the picture of a job's states is that of src/core/states.ts; `npm run docs` writes it", () => {
  expect(readFileSync(STATES_PICTURE, "utf8")).toBe(statesPicture());
});

test("nothing of a removable queue stays after `cdk destroy`, and of another queue its data stays", () => {
  const staying = (removable: boolean): string[] => [
    ...new Set(
      resourcesOf(2, removable)
        .filter(({ cfnOptions }) => stays(cfnOptions.deletionPolicy))
        .map(({ cfnResourceType }) => cfnResourceType),
    ),
  ];
  expect(staying(true)).toEqual([]);
  expect(staying(false).sort()).toEqual(["AWS::DynamoDB::Table", "AWS::Logs::LogGroup", "AWS::SQS::Queue"]);
});

/** The names that begin the rows of a table, as code. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/^\| `([^`]+)` /gm)].map(([, name = ""]) => name);
const textOf = (page: string): string => texts.find((one) => one.page === page)?.text ?? "";

test("the configuration has a row for each prop of a queue", () => {
  const props = readFileSync(join(DOCS, "..", "infra", "props.ts"), "utf8");
  const propsOf = (type: string): string[] => {
    const [, body = ""] = props.split(new RegExp(`export type ${type}(?:<.*>)? = {`));
    return [...(body.split("\n};")[0] ?? "").matchAll(/^ {2}readonly (\w+)\??:/gm)].map(
      ([, name = ""]) => name,
    );
  };
  const [, queue = ""] = textOf("reference/configuration.md").split(/^## /m);
  expect(propsOf("DelayQueueProps")).toContain("shards");
  expect(namesIn(queue).sort()).toEqual(propsOf("DelayQueueProps").sort());
});

test("the guide has a row for each option of the local stack", () => {
  const [, options = ""] = /^\| `local` .*\| (.*) \|$/m.exec(textOf("reference/cli.md")) ?? [];
  const shown = namesIn(textOf("guides/local.md")).flatMap((name) => /^--[a-z-]+/.exec(name) ?? []);
  // `--stack` is an option of all commands.
  expect(shown.filter((name) => name !== "--stack").sort()).toEqual(
    (options.match(/--[a-z-]+/g) ?? []).sort(),
  );
});

describe("the runbook", () => {
  const [, ...sections] = textOf("guides/alarms.md").split(/^## /m);
  const kinds = namesIn(TABLES.alarms?.() ?? "").map((name) => name.replace(/^<topic>|…$/g, ""));

  test("has a section for each alarm", () => {
    expect(sections.map((section) => section.split("\n")[0]).sort()).toEqual(kinds.sort());
  });

  test.each(sections.map((section) => [section.split("\n")[0], section]))(
    "says at %s what users see, how to tell the causes apart, what to do, and when the trouble is over",
    (_, section = "") => {
      for (const part of [
        /^\*\*Users see\*\* .+/m,
        /^```sh\n.+/m,
        /^\| you see +\| cause +\| what to do +\|/m,
      ])
        expect(section).toMatch(part);
      expect(section).toMatch(/^\*\*It is over when\*\* .+/m);
    },
  );
});

test("a cell may hold a bar, and columns are as wide as their widest cell", () => {
  expect(table(["a", "b"], [["x | y", "z"]])).toBe("| a      | b   |\n| ------ | --- |\n| x \\| y | z   |");
});

test("a page's placeholder for an unknown table is refused", () => {
  expect(() => fillTables("<!-- table: nothing -->\n<!-- /table -->", TABLES)).toThrow('the table "nothing"');
});
