import packageJson from "../../../package.json" with { type: "json" };
import { openapiDocument } from "../../../src/http/openapi.ts";
import { routes } from "../../../src/http/route-table.ts";
import { code, table } from "../markdown.ts";
import { numberText } from "../units.ts";

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Operation = {
  readonly operationId: string;
  /** The first sentence of the description. */
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};
type Call = { readonly title: string; readonly operation: Operation };

function document(): Document {
  return openapiDocument(routes, packageJson.version) as Document;
}

function callsOf({ paths }: Document): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      title: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
}

/** The table of calls, each with a link to its section in `calls.md`. */
export function calls(): string {
  const rows = callsOf(document()).map(({ title, operation: { operationId, summary } }) => [
    `[\`${title}\`](calls.md#${anchorOf(operationId)})`,
    summary,
  ]);
  return table(["call", "what it does"], rows);
}

/** The sections of `calls.md`: one for each call, and one for each schema. */
export function operations(): string {
  const whole = document();
  const sections = callsOf(whole).map(section);
  const schemas = Object.entries(whole.components.schemas).map(([name, schema]) =>
    [`### ${name}`, describe(schema)].join("\n\n"),
  );
  return [...sections, "## Schemas", ...schemas].join("\n\n");
}

function section({ title, operation }: Call): string {
  const { operationId, description, parameters = [], requestBody, responses } = operation;
  const rows = parameters.map(({ name, in: place, required, schema }) => [
    code(name),
    place,
    required ? "yes" : "",
    typeOf(schema),
    meaningOf(schema),
  ]);
  const answers = Object.entries(responses).map(([status, { description: codes, content }]) => {
    const [{ schema } = { schema: {} as Schema }] = Object.values(content);
    return Number(status) < 400 ? [status, typeOf(schema)] : [status, codes.split(", ").map(code).join(", ")];
  });
  return [
    `## ${operationId}`,
    `\`${title}\``,
    description,
    ...(rows.length > 0 ? [table(["parameter", "in", "required", "type", "meaning"], rows)] : []),
    ...(requestBody ? [bodySentence(requestBody)] : []),
    table(["status", "answer"], answers),
  ].join("\n\n");
}

function bodySentence({ required, content }: NonNullable<Operation["requestBody"]>): string {
  const [{ schema } = { schema: {} as Schema }] = Object.values(content);
  return `Body${required ? "" : " (may be empty)"}: ${typeOf(schema)}`;
}

function describe(schema: Schema): string {
  const { properties, required = [], description } = schema;
  if (!properties) return [typeOf(schema), meaningOf(schema)].filter((text) => text !== "").join(". ");
  const rows = Object.entries(properties).map(([name, property]) => [
    code(name),
    required.includes(name) ? "yes" : "",
    typeOf(property),
    meaningOf(property),
  ]);
  const fields = table(["field", "required", "type", "meaning"], rows);
  return description === undefined ? fields : [description, fields].join("\n\n");
}

function typeOf(schema: Schema): string {
  const { $ref, type, items, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1) ?? "";
    return `[${name}](#${anchorOf(name)})`;
  }
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  const parts = anyOf ?? oneOf ?? allOf;
  if (type === undefined && parts) return [...new Set(parts.map(typeOf))].join(" or ");
  if (type === "array") return `list of ${typeOf(items ?? {})}`;
  if (schema.format === "date-time") return "time";
  return typeof type === "string" ? type : (type?.join(" or ") ?? "any JSON");
}

function meaningOf(schema: Schema): string {
  const { description = "", pattern = "", maxLength, maxItems } = schema;
  const { minimum, maximum } = schema.anyOf?.find(({ type }) => type === "number") ?? schema;
  const bounds = [
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER
      ? []
      : [`at least ${numberText(minimum)}`]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
      ? []
      : [`at most ${numberText(maximum)}`]),
    ...(maxLength === undefined ? [] : [`at most ${numberText(maxLength)} characters`]),
    ...(maxItems === undefined ? [] : [`at most ${numberText(maxItems)} entries`]),
    // Leave out long patterns, such as that of a time, because nobody reads them.
    ...(pattern === "" || pattern.length > LONGEST_PATTERN ? [] : [`matches ${code(pattern)}`]),
    ...(schema.default === undefined ? [] : [`default ${code(JSON.stringify(schema.default))}`]),
  ].join(", ");
  const sentence = bounds === "" ? "" : `${bounds[0]?.toUpperCase()}${bounds.slice(1)}.`;
  return [description, sentence].filter((text) => text !== "").join(" ");
}

const LONGEST_PATTERN = 60;

/** The anchor that GitHub and VitePress give to a heading. */
function anchorOf(heading: string): string {
  return heading.toLowerCase();
}
