/** The start of `text` that fits into `bytes` of UTF-8, never half a character. */
export function truncate(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}
