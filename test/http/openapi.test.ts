import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { safeParse } from "zod/mini";
import { requests } from "../../src/http/named.ts";
import { EXAMPLES, PATH_EXAMPLES } from "../../src/http/openapi-examples.ts";
import { STATUS } from "../../src/http/problem.ts";
import * as bodies from "../../src/http/requests.ts";
import { routes } from "../../src/http/route-table.ts";
import { createApi, type Json } from "../support/api.ts";

const { call } = createApi();
const document = (await call("GET", "/openapi.json")).json;
const paths = document.paths as Record<string, Record<string, Json>>;
const schemas = (document.components as Json).schemas as Record<string, Json>;
const PREFIX = "#/components/schemas/";

test("the OpenAPI document is valid 3.1", async () => {
  const validator = new Validator();
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

test("every route is in the document, and nothing else", () => {
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
});

test("every call of the design is a route", () => {
  const calls = [
    "POST /jobs",
    "POST /jobs/batch",
    "POST /jobs/bulk",
    "POST /jobs/erase",
    "GET /jobs/export",
    "GET /jobs/{id}",
    "PATCH /jobs/{id}",
    "DELETE /jobs/{id}",
    "POST /jobs/cancel",
    "PUT /topics/{topic}/jobs/{key}",
    "GET /topics/{topic}/jobs/{key}",
    "DELETE /topics/{topic}/jobs/{key}",
    "GET /jobs",
    "GET /topics",
    "GET /topics/{topic}",
    "POST /topics/{topic}/pause",
    "POST /topics/{topic}/receive",
    "POST /topics/{topic}/finish",
    "POST /topics/{topic}/extend",
    "POST /topics/{topic}/resume",
    "POST /topics/{topic}/retry",
    "POST /topics/{topic}/bury",
    "GET /topics/{topic}/dead",
    "POST /topics/{topic}/redrive",
    "POST /topics/{topic}/dismiss",
    "GET /schedules",
    "GET /schedules/{name}",
    "PUT /schedules/{name}",
    "DELETE /schedules/{name}",
    "POST /schedules/{name}/pause",
    "POST /schedules/{name}/resume",
    "POST /schedules/{name}/run",
    "GET /forecast",
    "GET /openapi.json",
    "GET /health",
  ];
  expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(calls.sort());
});

test("every reference has its schema, and every schema is referred to", () => {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
  const named = new Set(refs.map(([, name]) => name));
  expect([...named].sort()).toEqual(Object.keys(schemas).sort());
});

test("the document has the rules of validation: required fields, no unknown fields, least and most", () => {
  expect(schemas.NewJob).toMatchObject({ required: ["topic", "body"], additionalProperties: false });
  expect(schemas.Job).not.toHaveProperty("additionalProperties");
  expect(paths["/jobs"]?.get?.parameters).toContainEqual({
    name: "limit",
    in: "query",
    required: false,
    schema: expect.objectContaining({ type: "integer", minimum: 1, maximum: 1000 }),
  });
  expect(schemas.NewJobs).toMatchObject({
    properties: { jobs: { type: "array", items: { $ref: "#/components/schemas/NewJob" } } },
  });
});

test("durations have the bounds that the API checks, and patterns need no flags", () => {
  const { properties } = schemas.NewJob as { properties: Record<string, { $ref: string }> };
  const numbers = ["delay", "spread", "maxDelay", "expiresAfter"].map((name) => {
    const duration = schemas[properties[name]?.$ref.replace(PREFIX, "") ?? ""] as { anyOf: Json[] };
    return duration.anyOf[0];
  });
  const seconds = { type: "number", format: "double" };
  expect(numbers).toEqual([
    { ...seconds, minimum: 0, maximum: 316_224_000 },
    { ...seconds, minimum: 0, maximum: 86_400 },
    { ...seconds, exclusiveMinimum: 0, maximum: 316_224_000 },
    { ...seconds, exclusiveMinimum: 0, maximum: 316_224_000 },
  ]);
  const patterns = JSON.stringify(document).match(/"pattern":"(?:[^"\\]|\\.)*"/g) ?? [];
  expect(patterns.length).toBeGreaterThan(10);
  // A class such as \p{L} needs the flag u, which JSON Schema cannot give.
  expect(patterns.filter((pattern) => /\\\\[pP]\{/.test(pattern))).toEqual([]);
});

const job = { topic: "orders", body: 1 };
const ONE_TIME = "Exactly one of `delay` and `dueAt` must be given.";
const dueAt = "2026-03-01T12:00:00Z";

// Beside `properties`, a keyword for such a rule would break the clients that generators make.
test.each([
  ["NewJob", bodies.newJob, ONE_TIME, [job, { ...job, delay: 1, dueAt }]],
  ["KeyedJob", bodies.keyedJob, ONE_TIME, [{ body: 1 }, { body: 1, delay: 1, dueAt }]],
  [
    "BulkMove",
    bodies.bulk,
    "Exactly one of `delay`, `dueAt` and `shift` must be given.",
    [{ action: "move", topic: "orders", dueAt, delay: 1 }],
  ],
  ["Changes", bodies.changes, "not both `delay` and `dueAt`", [{}, { delay: 1, dueAt }]],
  ["Redriving", bodies.redriving, "`ids` and `max` must not both be given", [{ ids: [], max: 1 }]],
  ["NewJob", bodies.newJob, "with a `key` only", [{ ...job, delay: 1, onDuplicate: "keep" }]],
  [
    "NewJob",
    bodies.newJob,
    "Required with `onDuplicate: postpone`, and allowed only there",
    [
      { ...job, delay: 1, key: "k", onDuplicate: "postpone" },
      { ...job, delay: 1, key: "k", maxDelay: 1 },
    ],
  ],
])(
  "the rule of %s about several fields stands in a description, and is enforced",
  (name, body, words, broken) => {
    expect(JSON.stringify(schemas[name])).toContain(words);
    for (const one of broken) expect(safeParse(body as never, one).success).toBe(false);
  },
);

test("error codes are text, and the document lists them", () => {
  expect(schemas.ErrorCode).toMatchObject({ type: "string", "x-extensible-enum": Object.keys(STATUS) });
  expect(schemas.Problem).toMatchObject({ properties: { code: { $ref: `${PREFIX}ErrorCode` } } });
});

/** Each schema within `value`, with its path. */
function schemasIn(value: unknown, path = ""): [string, Json][] {
  if (typeof value !== "object" || value === null) return [];
  const within = Object.entries(value).flatMap(([name, one]) =>
    name === "example" ? [] : schemasIn(one, `${path}/${name}`),
  );
  return [[path, value as Json], ...within];
}

test("generators of clients take each schema: see test/generators", () => {
  const UNIONS = ["oneOf", "anyOf", "allOf", "not", "if", "dependentRequired"];
  const faults = schemasIn({ paths, schemas }).flatMap(([path, schema]) => {
    const { type, format, pattern, maximum = Number.POSITIVE_INFINITY } = schema;
    const isUnion = UNIONS.some((keyword) => keyword in schema);
    const isNamed = /^\/schemas\/\w+$/.test(path);
    const wanted =
      type === "number" ? "double" : type === "integer" && Number(maximum) >= 2 ** 31 ? "int64" : format;
    return [
      ...(isUnion && type !== undefined ? [`${path}: a union beside a type`] : []),
      ...(type === "object" && "properties" in schema && !isNamed
        ? [`${path}: an object without a name`]
        : []),
      ...(isUnion && !isNamed ? [`${path}: a union without a name`] : []),
      ...(pattern !== undefined && format !== undefined ? [`${path}: a pattern beside a format`] : []),
      ...("const" in schema && type !== "string" ? [`${path}: a const that is no text`] : []),
      ...(format !== wanted ? [`${path}: the format must be ${wanted}`] : []),
    ];
  });
  expect(faults).toEqual([]);
});

test("no answer is a union, because generated clients of some languages take one object for another", () => {
  const requested = new Set(
    routes.flatMap(({ body }) => (body ? namesIn(requests.get(body)?.id ?? "") : [])),
  );
  const unions = Object.entries(schemas).filter(([, one]) => "anyOf" in one || "oneOf" in one);
  expect(unions.map(([name]) => name).filter((name) => !requested.has(name))).toEqual([]);
});

/** The name of a schema, and the names of all to which it refers. */
function namesIn(name: string): string[] {
  const refs = [...JSON.stringify(schemas[name]).matchAll(/schemas\/(\w+)"/g)].map(([, one = ""]) => one);
  return [name, ...refs.flatMap(namesIn)];
}

test("each call has one of the document's tags, and each tag a call", () => {
  const tags = (document.tags as Json[]).map(({ name }) => name);
  const used = Object.values(paths).flatMap((operations) => Object.values(operations).map((one) => one.tags));
  expect([...new Set(used.flat())].sort()).toEqual([...tags].sort());
  expect(used.every((these) => (these as string[]).length === 1)).toBe(true);
});

test.each(
  routes.filter(({ body }) => body !== undefined).map((route) => [route.operationId, route] as const),
)("the example of %s is a body that the call takes", (operationId, { body, path, method }) => {
  const operation = paths[path]?.[method.toLowerCase()] as { requestBody: { content: Json } };
  const { example } = operation.requestBody.content["application/json"] as { example: unknown };
  expect(example, operationId).toBeDefined();
  expect(safeParse(body as never, example).error?.issues).toBeUndefined();
});

test("each parameter in a path has an example that the call takes", () => {
  for (const { params, path } of routes) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    if (names.length === 0) continue;
    const examples = Object.fromEntries(names.map((name) => [name, PATH_EXAMPLES[name]]));
    expect(safeParse(params as never, examples).error?.issues).toBeUndefined();
  }
});

test("each example belongs to a call of the document", () => {
  const known = routes.map(({ operationId }) => operationId);
  expect(Object.keys(EXAMPLES).filter((name) => !known.includes(name))).toEqual([]);
});
