/** Headers that a job cannot set: they describe one connection or one HTTP message, or the webhook's call sets them itself. */
const RESERVED = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);
const RESERVED_PREFIXES = ["proxy-", "webhook-", "minutehand-"];
/** Values that each HTTP implementation passes on unchanged ("Field Values", RFC 9110): printable ASCII, no blanks at the ends. */
const PLAIN = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;

/** Answers the first rule that a job's headers break, as a text that names the header. `undefined`: a webhook's call can carry them all. */
export function callbackHeadersError(headers: Readonly<Record<string, string>>): string | undefined {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (isReserved(lower)) return `${name} must be absent, because HTTP or the call sets it`;
    if (!PLAIN.test(value)) return `the value of ${name} must be printable ASCII without blanks at its ends`;
    if (seen.has(lower))
      return `${name} must be there only once: names that differ only in upper and lower case are the same`;
    seen.add(lower);
  }
  return undefined;
}

/** Answers a job's headers that its call may carry. A job that was filed before its topic had a webhook may have others. */
export function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => !callbackHeadersError({ [name]: value }));
  return Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), value]));
}

function isReserved(name: string): boolean {
  return RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
}
