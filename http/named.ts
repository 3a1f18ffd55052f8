import * as z from "zod/mini";

/**
 * The schemas that have names in the OpenAPI document. There are two registries, because the document describes the input of a
 * request's schema and the output of an answer's schema.
 */
export const requests = z.registry<{ id: string }>();
export const answers = z.registry<{ id: string }>();

export function request<S extends z.core.$ZodType>(id: string, schema: S): S {
  requests.add(schema, { id });
  return schema;
}

export function answer<S extends z.core.$ZodType>(id: string, schema: S): S {
  answers.add(schema, { id });
  return schema;
}

/** The reference to a named schema in the OpenAPI document. */
export function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/** The schema of an entry of a batch. Each entry is validated later and alone, so that a refused entry does not stop the others. */
export function described(id: string) {
  return z.unknown().check(z.meta({ $ref: refTo(id) }));
}
