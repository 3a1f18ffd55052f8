import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { safeParse } from "zod/mini";
import { EXAMPLES, PATH_EXAMPLES } from "../../src/http/openapi-examples.ts";
import { routes } from "../../src/http/route-table.ts";
import { createApi, type Json } from "../support/api.ts";

const { call } = createApi();
const document = (await call("GET", "/openapi.json")).json;
const paths = document.paths as Record<string, Record<string, Json>>;
const schemas = (document.components as Json).schemas as Record<string, Json>;

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

test("the document has the rules of validation: required fields, no unknown fields, either delay or dueAt", () => {
  expect(schemas.NewJob).toMatchObject({
    required: ["topic", "body"],
    additionalProperties: false,
    oneOf: [{ required: ["delay"] }, { required: ["dueAt"] }],
  });
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
  const { properties } = schemas.NewJob as {
    properties: Record<string, { anyOf: Json[]; pattern?: string }>;
  };
  const numbers = ["delay", "spread", "maxDelay", "expiresAfter"].map((name) => properties[name]?.anyOf[0]);
  expect(numbers).toEqual([
    { type: "number", minimum: 0, maximum: 316_224_000 },
    { type: "number", minimum: 0, maximum: 86_400 },
    { type: "number", exclusiveMinimum: 0, maximum: 316_224_000 },
    { type: "number", exclusiveMinimum: 0, maximum: 316_224_000 },
  ]);
  const patterns = JSON.stringify(document).match(/"pattern":"(?:[^"\\]|\\.)*"/g) ?? [];
  expect(patterns.length).toBeGreaterThan(10);
  // A class such as \p{L} needs the flag u, which JSON Schema cannot give.
  expect(patterns.filter((pattern) => /\\\\[pP]\{/.test(pattern))).toEqual([]);
});

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
