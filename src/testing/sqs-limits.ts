import { DAY, SQS_BATCH_BYTES } from "../core/constants.ts";

// "SendMessage", SQS API Reference: "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to
// #x10FFFF". With the flag `u` a lone surrogate is a character of its own.
const REFUSED = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;
const GROUP = /^[!-~]{1,128}$/;

// The values with which the construct creates its queues. Retentions are ms.
export const MAX_RECEIVE_COUNT = 20;
export const RETENTION = 10 * DAY;
export const DEAD_RETENTION = 14 * DAY;

/** Says why SQS would always refuse this message; `undefined` if SQS would accept it. */
export function sqsRefusalOf(body: string, group: string | undefined): string | undefined {
  const bytes = Buffer.byteLength(body);
  if (bytes < 1 || bytes > SQS_BATCH_BYTES)
    return `a message must have 1 to ${SQS_BATCH_BYTES} bytes, not ${bytes}`;
  const character = REFUSED.exec(body)?.[0];
  if (character !== undefined) {
    const code = character.codePointAt(0) ?? 0;
    return `a message cannot hold U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  }
  if (group !== undefined && !GROUP.test(group))
    return `a group must have 1 to 128 ASCII letters, digits or punctuation, not ${JSON.stringify(group)}`;
  return undefined;
}
