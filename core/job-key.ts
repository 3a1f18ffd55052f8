import { KEY_CHARS } from "./constants.ts";

/** A caller's own key. A path cannot hold "." or ".." as a segment: clients and gateways resolve them away. */
export const KEY_PATTERN = new RegExp(`^(?!\\.{1,2}$)[A-Za-z0-9._~:@=+,-]{1,${KEY_CHARS}}$`);
export const KEY_RULE = `must be 1 to ${KEY_CHARS} characters of A-Z, a-z, 0-9 and ._~:@=+,- and neither "." nor ".."`;
