/** Texts of jobs may contain characters that change the order in which a browser shows the characters after them. */

/** The invisible characters that set or override a direction: ALM, LRM, RLM, the embeddings, the overrides and the isolates. */
const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const STRINGS = /("(?:[^"\\]|\\.)*")/;

/** Writes each character that sets a direction as an escape of JSON, such as `\u202e`. */
export function withVisibleMarks(text: string): string {
  return text.replace(MARKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Writes a value as JSON, without invisible characters that set a direction. The escapes mean the same characters. */
export function jsonText(value: unknown, indent?: number): string {
  return withVisibleMarks(JSON.stringify(value, undefined, indent));
}

/** Each second part is a string, to be laid out alone: two strings from right to left would else change places. One part if none is. */
export function directedParts(text: string): string[] {
  return RIGHT_TO_LEFT.test(text) ? text.split(STRINGS) : [text];
}
