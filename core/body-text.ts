import { BODY_BYTES } from "./constants.ts";
import { MinutehandError } from "./errors.ts";
import { toJson } from "./json.ts";

/** Converts a job's body to the JSON text that is stored. Throws `too-large`. */
export function bodyText(body: unknown): string {
  const text = toJson(body);
  const bytes = Buffer.byteLength(text);
  // rule: body-stored-as-given
  if (bytes <= BODY_BYTES) return text;
  throw new MinutehandError(
    "too-large",
    `a body must have at most ${BODY_BYTES} bytes (${BODY_BYTES / 1024} KiB) of JSON, got ${bytes}; keep larger data in S3 and send its address`,
  );
}
