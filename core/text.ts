/** The start of `text` that fits into `bytes` of UTF-8, never half a character, and none that UTF-8 has not. */
export function truncate(text: string, bytes: number): string {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= bytes) return whole;
  return new TextDecoder().decode(Buffer.from(whole).subarray(0, bytes), { stream: true });
}
