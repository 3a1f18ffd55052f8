import { KEY_CHARS } from "./constants.ts";

/** A caller's own key. It stands in the path of a URL, where clients and gateways would resolve a segment "." or "..". */
export const KEY_PATTERN = new RegExp(`^(?!\\.{1,2}$)[A-Za-z0-9._~:@=+,-]{1,${KEY_CHARS}}$`);
export const KEY_RULE = `must be 1 to ${KEY_CHARS} characters of A-Z, a-z, 0-9 and ._~:@=+,- and neither "." nor ".."`;
