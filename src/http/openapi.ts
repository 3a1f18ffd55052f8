import * as z from "zod/mini";
import { problem } from "./answers/problem.ts";
import { answers, refTo, requests } from "./named.ts";
import { EXAMPLES, PATH_EXAMPLES } from "./openapi-examples.ts";
import { type ProblemCode, STATUS } from "./problem.ts";
import type { AnswerHeader, Route } from "./route.ts";

type JsonSchema = Record<string, unknown>;

const ABOUT =
  "A serverless delay queue: do this later, exactly then, unless I change my mind. Times are ISO 8601, in answers UTC with " +
  "milliseconds, in requests with any zone: 2026-03-01T10:30:00+01:00, +0100 or +01, with or without seconds and their " +
  "fraction, which is rounded up to milliseconds, and with or without the zone in brackets after the offset, as in " +
  "2026-03-01T10:30:00+01:00[Europe/Paris]. Durations are seconds, or a string such as 90s, 1h30m or 7d. The API refuses a request with an " +
  "unknown field. If a path does not support a method, the API answers 405, and the Allow header lists the methods " +
  "that the path supports.";

/** The tags of the calls, in the order of the document. */
const TAGS = {
  Jobs: "File, read, list, move and cancel jobs.",
  Topics: "See, pause and resume topics.",
  Pull: "Take jobs over HTTP, and settle them.",
  "Dead jobs": "List dead jobs, and run them again.",
  Schedules: "Manage recurring jobs.",
  API: "Describe the API.",
} as const;

/** Region and id are those of the stack's output. */
const SERVERS = [
  {
    url: "https://{api}.execute-api.{region}.amazonaws.com",
    description: "the API of a deployed stack",
    variables: { api: { default: "a1b2c3d4e5" }, region: { default: "us-east-1" } },
  },
  { url: "http://127.0.0.1:4500", description: "minutehand local, which needs no signature" },
];

/** `sigv4` has the words of API Gateway's own exports. `bearer` is for an authorizer of the user's own. `{}` in `SECURITY`: none, as locally. */
const SECURITY_SCHEMES = {
  sigv4: {
    type: "apiKey",
    name: "Authorization",
    in: "header",
    description: "AWS Signature Version 4 for the service execute-api.",
    "x-amazon-apigateway-authtype": "awsSigv4",
  },
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "For an API behind an authorizer that takes a token.",
  },
};
const SECURITY = [{ sigv4: [] }, { bearer: [] }, {}];

/** OpenAPI 3.1, from the schemas that validate requests. */
export function openapiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  const schemas = byName({ ...componentsOf(requests, "input"), ...componentsOf(answers, "output") });
  return {
    openapi: "3.1.0",
    info: {
      title: "Minutehand",
      version,
      description: ABOUT,
      contact: { name: "Minutehand" },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: SERVERS,
    security: SECURITY,
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas, securitySchemes: SECURITY_SCHEMES },
  };
}

function tagOf({ path }: Route): keyof typeof TAGS {
  if (/^\/(jobs|forecast)|\/jobs\//.test(path)) return "Jobs";
  if (/\/(dead|redrive|dismiss)$/.test(path)) return "Dead jobs";
  if (/^\/topics(\/\{topic\}(\/(pause|resume))?)?$/.test(path)) return "Topics";
  if (path.startsWith("/topics/")) return "Pull";
  return path.startsWith("/schedules") ? "Schedules" : "API";
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
  const content = body && {
    "application/json": { schema: named(requests, body), example: EXAMPLES[operationId] },
  };
  return {
    operationId,
    tags: [tagOf(route)],
    summary: firstSentence(summary),
    description: summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(content ? { requestBody: { required: !route.bodyOptional, content } } : {}),
    responses: { ...Object.fromEntries(successes), ...problemsOf(route) },
  };
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

function problemsOf({ body, problems }: Route): object {
  const tooLarge: ProblemCode[] = body ? ["too-large"] : [];
  const codes: ProblemCode[] = ["bad-request", ...problems, ...tooLarge, "internal", "unavailable"];
  const byStatus = Map.groupBy(codes, (code) => STATUS[code]);
  const content = { "application/problem+json": { schema: named(answers, problem) } };
  return Object.fromEntries(
    [...byStatus].map(([status, these]) => {
      return [status, { description: these.join(", "), ...headersOfProblem(status), content }];
    }),
  );
}

function headersOfProblem(status: number): object {
  if (status === STATUS.unavailable || status === STATUS["too-many-filed"])
    return { headers: headersOf(["Retry-After"]) };
  return status === STATUS["changed-meanwhile"] ? { headers: headersOf(["ETag"]) } : {};
}

const HEADERS: Readonly<Record<AnswerHeader | "Retry-After", object>> = {
  Location: {
    description: "The path of the job or the schedule.",
    required: true,
    schema: { type: "string" },
  },
  "Idempotent-Replayed": {
    description:
      "Present only if an earlier request with the same Idempotency-Key filed, kept, replaced or postponed the job.",
    schema: { type: "string", const: "true" },
  },
  ETag: {
    description:
      "The job's revision, for `If-Match`. At the path of a key it also names the job. It changes when a caller, an event or a retry changes the job, but not when a run begins or ends.",
    schema: { type: "string" },
  },
  "Retry-After": {
    description: "How many seconds to wait before the next try.",
    required: true,
    schema: { type: "integer", minimum: 0, format: "int64" },
  },
};

function headersOf(names: readonly (keyof typeof HEADERS)[]): object | undefined {
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, HEADERS[name]]));
}

/** Our client and the libraries of tracing set these headers. As parameters they would change the methods of clients that are generated. */
const NO_PARAMETERS: readonly string[] = ["minutehand-chain", "minutehand-traceparent", "traceparent"];

function parametersOf(place: "path" | "query" | "header", schema: z.core.$ZodType | undefined): object[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: "input",
    override: (each) => {
      const { def } = each.zodSchema._zod;
      // zod writes no default for a value that a transform makes from text.
      if (def.type === "default") each.jsonSchema.default = (def as z.core.$ZodDefaultDef).defaultValue;
      forGenerators(each);
    },
  });
  const documented = Object.entries(properties).filter(([name]) => !NO_PARAMETERS.includes(name));
  return documented.map(([name, property]) => {
    return { name, in: place, required: required.includes(name), schema: property, ...example(place, name) };
  });
}

function example(place: "path" | "query" | "header", name: string): { example?: string } {
  const text = place === "path" ? PATH_EXAMPLES[name] : undefined;
  return text === undefined ? {} : { example: text };
}

function named(registry: typeof requests, schema: z.core.$ZodType): JsonSchema {
  const id = registry.get(schema)?.id;
  if (id === undefined) throw new Error("the schema of a request's body or of an answer must have a name");
  return { $ref: refTo(id) };
}

/** Sorts the schemas by name, so that their order does not depend on which file is loaded first. */
function byName(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function componentsOf(registry: typeof requests, io: "input" | "output"): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(registry, { io, uri: refTo, override: forGenerators });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [
      id,
      io === "output" ? open(schema) : schema,
    ]),
  );
}

/**
 * Generators make a type of each format: without one, a number is a `float` of 32 bits in Go, and a time with a `pattern` is text that
 * does not compile in Java. The pattern of a time says no more than its format.
 */
function forGenerators({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  const { type, format, maximum } = jsonSchema;
  if (format === "date-time") delete jsonSchema.pattern;
  if (type === "number") jsonSchema.format = "double";
  if (type === "integer" && Number(maximum ?? Number.POSITIVE_INFINITY) >= 2 ** 31)
    jsonSchema.format = "int64";
}

/** A later version may add fields to an answer. */
function open(schema: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(schema, (name, value) =>
      name === "additionalProperties" && value === false ? undefined : value,
    ),
  );
}
