import * as z from "zod/mini";
import { problem } from "./answers.ts";
import { answers, refTo, requests } from "./named.ts";
import { type ProblemCode, STATUS } from "./problem.ts";
import type { AnswerHeader, Route } from "./route.ts";

type JsonSchema = Record<string, unknown>;

const ABOUT =
  "A serverless delay queue: do this later, exactly then, unless I change my mind. Times are ISO 8601 UTC with " +
  "milliseconds. Durations are seconds, or a string such as 90s, 1h30m or 7d. The API refuses a request with an " +
  "unknown field. If a path does not support a method, the API answers 405, and the Allow header lists the methods " +
  "that the path supports.";

/** Makes the OpenAPI 3.1 document of these routes from the schemas that validate their requests. */
export function openapiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  const schemas = { ...componentsOf(requests, "input"), ...componentsOf(answers, "output") };
  return {
    openapi: "3.1.0",
    info: {
      title: "Minutehand",
      version,
      description: ABOUT,
      license: { name: "MIT", identifier: "MIT" },
    },
    paths,
    components: { schemas },
  };
}

function operationOf(route: Route): object {
  const headers = headersOf(route.answerHeaders ?? []);
  const successes = Object.entries(route.answers).map(([status, schema]) => {
    const content = { "application/json": { schema: named(answers, schema) } };
    return [status, { description: "Success", ...(headers ? { headers } : {}), content }];
  });
  const parameters = [
    ...parametersOf("path", route.params),
    ...parametersOf("query", route.query),
    ...parametersOf("header", route.headers),
  ];
  const { operationId, summary, body } = route;
  const content = body && { "application/json": { schema: named(requests, body) } };
  return {
    operationId,
    summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(content ? { requestBody: { required: !route.bodyOptional, content } } : {}),
    responses: { ...Object.fromEntries(successes), ...problemsOf(route.problems) },
  };
}

function problemsOf(problems: readonly ProblemCode[]): object {
  const codes: ProblemCode[] = ["bad-request", ...problems, "internal", "unavailable"];
  const byStatus = Map.groupBy(codes, (code) => STATUS[code]);
  const content = { "application/problem+json": { schema: named(answers, problem) } };
  return Object.fromEntries(
    [...byStatus].map(([status, these]) => {
      const headers = status === STATUS.unavailable ? { headers: headersOf(["Retry-After"]) } : {};
      return [status, { description: these.join(", "), ...headers, content }];
    }),
  );
}

const HEADERS: Readonly<Record<AnswerHeader | "Retry-After", object>> = {
  Location: {
    description: "The path of the job or the schedule.",
    required: true,
    schema: { type: "string" },
  },
  "Idempotent-Replayed": {
    description: "Present only if an earlier request with the same Idempotency-Key filed the job.",
    schema: { type: "string", const: "true" },
  },
  "Retry-After": {
    description: "How many seconds to wait before the next try.",
    required: true,
    schema: { type: "integer" },
  },
};

function headersOf(names: readonly (keyof typeof HEADERS)[]): object | undefined {
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, HEADERS[name]]));
}

function parametersOf(place: "path" | "query" | "header", schema: z.core.$ZodType | undefined): object[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: "input",
    // zod writes no default if a transform makes the value from text, so add the default here.
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === "default") jsonSchema.default = (def as z.core.$ZodDefaultDef).defaultValue;
    },
  });
  return Object.entries(properties).map(([name, property]) => {
    return { name, in: place, required: required.includes(name), schema: property };
  });
}

function named(registry: typeof requests, schema: z.core.$ZodType): JsonSchema {
  const id = registry.get(schema)?.id;
  if (id === undefined) throw new Error("the schema of a request's body or of an answer must have a name");
  return { $ref: refTo(id) };
}

function componentsOf(registry: typeof requests, io: "input" | "output"): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(registry, { io, uri: refTo });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [
      id,
      io === "output" ? open(schema) : schema,
    ]),
  );
}

/** Allows further fields in the schema of an answer, because a later version may add fields. */
function open(schema: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (name, value) =>
      name === "additionalProperties" && value === false ? undefined : value,
    ),
  );
}
