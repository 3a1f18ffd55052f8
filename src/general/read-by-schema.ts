import type { StandardSchemaV1 } from "@standard-schema/spec";

/** A schema of zod, valibot, arktype or another library of Standard Schema. */
export type Schema<Output = unknown> = StandardSchemaV1<unknown, Output>;

/** `path`: names and indexes with dots between them, empty for the value itself. */
export type Fault = { readonly path: string; readonly message: string };

/** How many faults a text tells. */
const TOLD = 3;

/** Answers what a schema makes of a value, or what is wrong with the value. */
export async function readBySchema<Output>(
  schema: Schema<Output>,
  value: unknown,
): Promise<{ readonly value: Output } | { readonly faults: readonly Fault[] }> {
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return { value: result.value };
  return {
    faults: result.issues.map(({ path = [], message }) => ({
      path: path.map((part) => String(typeof part === "object" ? part.key : part)).join("."),
      message,
    })),
  };
}

/** `at`: the path of the value. */
export function faultsText(faults: readonly Fault[], at: string): string {
  const told = faults
    .slice(0, TOLD)
    .map(({ path, message }) => `${path === "" ? at : `${at}.${path}`}: ${message}`);
  const more = faults.length > TOLD ? `; and ${faults.length - TOLD} more` : "";
  return `${told.join("; ")}${more}`;
}
