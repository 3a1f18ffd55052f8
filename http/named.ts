import * as z from "zod/mini";

/**
 * Schemas that have a name of their own in the OpenAPI document. Requests are described as they are sent,
 * answers as they are given, hence two registries.
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

/** Where the document keeps a named schema. */
export function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/** A value that is validated later and on its own, so that a bad one does not spoil its neighbours. */
export function described(id: string) {
  return z.unknown().check(z.meta({ $ref: refTo(id) }));
}
