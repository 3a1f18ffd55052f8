import * as z from "zod/mini";

/** The schemas that the OpenAPI document names. It describes the input of requests and the output of answers, so there are two registries. */
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

export function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/** Entries of a batch are validated later, one by one, so that a refused entry does not stop the others. */
export function described(id: string) {
  return z.unknown().check(z.meta({ $ref: refTo(id) }));
}
