import { faultsText, readBySchema, type Schema } from "../general/read-by-schema.ts";
import type { CheckedHandler } from "./run-handler.ts";

/** Wraps a handler. If a body does not fit the schema, the run fails before the handler starts. */
export function checkedHandler<Output>(
  schema: Schema<Output>,
  handler: CheckedHandler<Output>,
): CheckedHandler<unknown> {
  return async (job) => {
    const read = await readBySchema(schema, job.body);
    if ("value" in read) return handler({ ...job, body: read.value });
    throw new Error(`the body does not fit the schema: ${faultsText(read.faults, "body")}`);
  };
}
