import { ERROR_BYTES } from "../core/constants.ts";
import { truncate } from "../general/text.ts";

/** Makes a text of a receiver or of a target fit for `lastError`: it is on one line, and at most `ERROR_BYTES` long. */
export function oneLineError(text: string): string {
  return truncate(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim(), ERROR_BYTES);
}
