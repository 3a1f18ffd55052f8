/**
 * Answers the longest beginning of `text` that fits into `bytes` of UTF-8. It ends at a whole character. Lone surrogates become
 * U+FFFD.
 */
export function truncate(text: string, bytes: number): string {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= bytes) return whole;
  // By default the decoder would drop a byte order mark at the start.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(Buffer.from(whole).subarray(0, bytes), { stream: true });
}

/**
 * Answers how many bytes a value has in the answer of a Lambda function behind API Gateway. Such an answer contains the value's JSON as a
 * JSON string, so that each quote takes two bytes. An answer may have 6 MB ("Lambda quotas", AWS Lambda Developer Guide).
 */
export function answerBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(value)));
}
