import { AWS_NAMES } from "../../infra/checks/names.ts";
import { CONFIG_NAMES } from "../../infra/plain/config.ts";
import { PREFIX } from "../../src/settings/prefix.ts";
import { SETTINGS } from "../../src/settings/topic-settings.ts";
import { type Documented, documentedFields } from "./docstrings.ts";

type Schema = Readonly<Record<string, unknown>>;

const DURATION = { type: ["number", "string"] };
/** The forms of those properties whose docstrings do not suffice for an editor. The construct checks all of them. */
const FORMS: Readonly<Record<string, Schema>> = {
  topics: { type: "object", minProperties: 1, additionalProperties: { $ref: "#/definitions/topic" } },
  targets: {
    type: "object",
    additionalProperties: objectOf(
      { arn: textOrParameter(), timeout: DURATION, localHandler: { type: "string" } },
      ["arn", "timeout"],
    ),
  },
  handlers: { type: "object", additionalProperties: { type: "string" } },
  prefix: { type: "string", pattern: PREFIX.source },
  table: textOrParameter("table"),
  eventBus: textOrParameter("eventBus"),
  encryptionKey: textOrParameter("encryptionKey"),
  alarmTopic: textOrParameter("alarmTopic"),
};

/** The JSON Schema of the file that `minutehand template` reads, for editors: names, descriptions and simple ranges. */
export function configSchema(): Schema {
  const own = fieldsOf("infra/plain/config.ts", "OwnConfig");
  const props = fieldsOf("infra/props.ts", "DelayQueueProps");
  const properties = CONFIG_NAMES.map((name) => [
    name,
    { ...FORMS[name], ...described(own.get(name) ?? props.get(name)) },
  ]);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The file of minutehand template",
    ...objectOf(Object.fromEntries(properties), ["topics"]),
    definitions: { topic: topicSchema() },
  };
}

function textOrParameter(name?: keyof typeof AWS_NAMES): Schema {
  const text = { type: "string", ...(name && { pattern: AWS_NAMES[name].form.source }) };
  const parameter = { type: "string", pattern: "^[A-Za-z0-9]{1,255}$" };
  return { oneOf: [text, objectOf({ parameter }, ["parameter"])] };
}

function topicSchema(): Schema {
  const docstrings = fieldsOf("src/settings/topic-settings.ts", "TopicSettings");
  const properties = SETTINGS.map(([name, declared]) => [
    name,
    { ...formOf(declared), ...described(docstrings.get(name)) },
  ]);
  return objectOf(Object.fromEntries(properties), []);
}

function formOf(declared: (typeof SETTINGS)[number][1]): Schema {
  switch (declared.kind) {
    case "word":
      return { enum: declared.words };
    case "count": {
      const count = { type: "integer", minimum: declared.least, maximum: declared.most };
      return "orFalse" in declared ? { anyOf: [count, { const: false }] } : count;
    }
    case "duration":
      return DURATION;
    case "own":
      return { type: declared.types };
  }
}

function objectOf(properties: Schema, required: readonly string[]): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

function fieldsOf(path: string, type: string): Map<string, Documented> {
  const file = new URL(`../../${path}`, import.meta.url);
  return new Map(documentedFields(file, type).map((field) => [field.name, field]));
}

function described(field: Documented | undefined): Schema {
  const { text = "", ifAbsent } = field ?? {};
  return { description: ifAbsent === undefined ? text : `${text} Default: ${ifAbsent}`.trim() };
}
