/** The longest beginning that fits into `bytes` of UTF-8 and ends at a whole character. Lone surrogates become U+FFFD. */
export function truncate(text: string, bytes: number): string {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= bytes) return whole;
  // Otherwise the decoder would drop a byte order mark.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(Buffer.from(whole).subarray(0, bytes), { stream: true });
}

/** A text as an error shows it: in quotes, and a long one with its first `bytes` bytes and its length. */
export function quoted(text: string, bytes: number): string {
  const begins = truncate(text, bytes);
  if (begins === text.toWellFormed()) return JSON.stringify(text);
  return `${JSON.stringify(`${begins}…`)} (${text.length.toLocaleString("en")} characters)`;
}

/** An answer of Lambda has the value's JSON as a JSON string, where each quote takes two bytes, and at most 6 MB ("Lambda quotas"). */
export function answerBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(value)));
}
