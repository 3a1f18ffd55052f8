/** The start of `text` that fits into `bytes` of UTF-8, never half a character, and none that UTF-8 has not. */
export function truncate(text: string, bytes: number): string {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= bytes) return whole;
  // A byte order mark is a character like any other here.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(Buffer.from(whole).subarray(0, bytes), { stream: true });
}
