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
