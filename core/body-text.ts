import { BODY_BYTES } from "./constants.ts";
import { MinutehandError } from "./errors.ts";
import { toJson } from "./json.ts";

/** A job's body as it is stored. Throws `too-large`. */
export function bodyText(body: unknown): string {
  const text = toJson(body);
  const bytes = Buffer.byteLength(text);
  // rule: body-stored-as-given
  if (bytes <= BODY_BYTES) return text;
  throw new MinutehandError(
    "too-large",
    `a body can have ${BODY_BYTES} bytes (200 KiB) of JSON, this one has ${bytes}; keep it in S3 and send where`,
  );
}
