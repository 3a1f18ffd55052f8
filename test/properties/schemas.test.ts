import fc from "fast-check";
import { describe, expect } from "vitest";
import * as z from "zod/mini";
import { BATCH_JOBS } from "../../src/core/constants.ts";
import { jobId } from "../../src/http/fields.ts";
import { requests } from "../../src/http/named.ts";
import { openapiDocument } from "../../src/http/openapi.ts";
import * as bodies from "../../src/http/requests.ts";
import { routes } from "../../src/http/route-table.ts";
import { allowedBy, forbiddenBy, type Schema } from "./from-schema.ts";
import { property } from "./property.ts";

type Parameter = { name: string; in: "path" | "query" | "header"; required: boolean; schema: Schema };
type Document = {
  paths: Record<string, Record<string, { operationId: string; parameters?: Parameter[] }>>;
  components: { schemas: Record<string, Schema> };
};

const document: Document = JSON.parse(JSON.stringify(openapiDocument(routes, "1")));
const resolve = (ref: string): Schema => schemaOf(ref.replace("#/components/schemas/", ""));

function schemaOf(name: string): Schema {
  const schema = document.components.schemas[name];
  if (!schema) throw new Error(`the document has no schema ${name}`);
  return schema;
}

/** Rules that the document says in words. JSON Schema cannot limit bytes either, but the values here are too short to break such a limit. */
const UNSAYABLE = [
  // JSON Schema cannot express this rule for text. For numbers it is a `maximum`.
  /^must be seconds \(0 or more\) or a string such as .* days$/,
  /^must be a duration longer than 0$/,
  /^must be seconds or a string such as "2h" or "-30m", not 0, at most \d+ days$/,
  /^must lie between 1970 and 2286$/,
  /^must be a time that exists, in the years 0 to 9999 of UTC$/,
  /^must be a duration of whole minutes, 1 to 1440$/,
  /^must be a duration of at most 1 day$/,
  /^must have the offset of its zone: /,
  /^must have an IANA name or an offset as its zone, got /,
  /^must be in the calendar iso8601, got /,
  /^must not be before start$/,
  // As keywords beside `properties`, rules about several fields would break clients that generators make.
  /^exactly one of delay and dueAt must be given, got (?:none|both)$/,
  /^exactly one of delay, dueAt and shift must be given, got (?:none|several)$/,
  /^must be absent with shift, which keeps the jobs as far apart as they are$/,
  /^delay and dueAt must not both be given$/,
  /^ids and max must not both be given$/,
  /^at least one of topic, tag, group and keyPrefix must be given, or all jobs would be erased$/,
  /^must be absent without a key$/,
  /^must be given with onDuplicate postpone, and absent otherwise$/,
];

/** The messages with which validation refuses a body: first the whole body, then each entry of a batch, as the handlers do. */
function refusalsOf(name: string, body: z.ZodMiniType, value: unknown): string[] {
  const issues = (schema: z.ZodMiniType, one: unknown): string[] =>
    (z.safeParse(schema, one).error?.issues ?? []).map(({ message }) => message);
  const refused = issues(body, value);
  const members = value as { jobs?: unknown[]; ids?: unknown[] };
  if (refused.length > 0 || (name !== "NewJobs" && name !== "JobIds")) return refused;
  const entries = members.jobs ?? members.ids ?? [];
  if (entries.length > BATCH_JOBS) return ["has too many entries"];
  if (name === "NewJobs") return entries.flatMap((entry) => issues(bodies.newJob, entry));
  // The document allows any text as an id, because each malformed id is refused in its own result.
  return entries.flatMap((entry) => (typeof entry === "string" ? [] : issues(jobId, entry)));
}

const named = Object.values(bodies).map(
  (schema) => [requests.get(schema)?.id ?? "", schema as z.ZodMiniType] as const,
);

describe.each(named)("a request's body by %s", (name, body) => {
  property("is taken when the document allows it", [allowedBy(schemaOf(name), resolve)], (value) => {
    const refused = refusalsOf(name, body, value).filter(
      (message) => !UNSAYABLE.some((rule) => rule.test(message)),
    );
    expect(refused).toEqual([]);
  });

  property(
    "is refused when the document forbids it",
    [forbiddenBy(schemaOf(name), resolve) ?? fc.constant(undefined)],
    (value) => {
      expect(refusalsOf(name, body, value)).not.toEqual([]);
    },
  );
});

const PLACES = { path: "params", query: "query", header: "headers" } as const;

const places = routes.flatMap((route) => {
  const { parameters = [] } = document.paths[route.path]?.[route.method.toLowerCase()] ?? {};
  return Object.entries(PLACES).flatMap(([place, field]) => {
    const these = parameters.filter((parameter) => parameter.in === place);
    const schema = route[field];
    return these.length > 0 && schema ? [{ call: route.operationId, place, these, schema }] : [];
  });
});

const asText = (values: object): object =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );

describe.each(places)("$place parameters of $call", ({ place, these, schema }) => {
  const whole: Schema = {
    type: "object",
    properties: Object.fromEntries(these.map((one) => [one.name, one.schema])),
    required: these.filter(({ required }) => required).map(({ name }) => name),
    // A request may have other headers too.
    ...(place === "header" ? {} : { additionalProperties: false }),
  };

  property("are taken when the document allows them", [allowedBy(whole, resolve)], (values) => {
    const issues = z.safeParse(schema, asText(values as object)).error?.issues ?? [];
    const refused = issues.filter(({ message }) => !UNSAYABLE.some((rule) => rule.test(message)));
    expect(refused).toEqual([]);
  });

  const broken = forbiddenBy(whole, resolve) ?? fc.constant({});
  // In a URL all values are text. So a number, an object or null may be allowed as text, and text may be a number.
  const readable = broken.filter(
    (values): values is Record<string, unknown> =>
      typeof values === "object" &&
      values !== null &&
      !Array.isArray(values) &&
      these.every(({ name, schema: { type } }) => {
        const value = (values as Record<string, unknown>)[name];
        if (typeof value === "string") return type !== "integer" || !/^\d+$/.test(value);
        return value === undefined || (type === "integer" && typeof value === "number");
      }),
  );
  property("are refused when the document forbids them", [readable], (values) => {
    expect(z.safeParse(schema, asText(values as object)).success).toBe(false);
  });
});
