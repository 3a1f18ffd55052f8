/** HTTP's own, by hop or by message, and what each call says itself. */
const OURS = new Set([
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
const OUR_PREFIXES = ["proxy-", "webhook-", "minutehand-"];
/** What any HTTP implementation hands on as it is ("Field Values", RFC 9110): no blanks at the ends. */
const PLAIN = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;

/** What keeps a job's headers from going with a webhook's call: the name, the rule and what is allowed. */
export function callbackHeadersError(headers: Readonly<Record<string, string>>): string | undefined {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (isOurs(lower)) return `${name} must be absent, because HTTP or the call sets it`;
    if (!PLAIN.test(value)) return `the value of ${name} must be printable ASCII without blanks at its ends`;
    if (seen.has(lower)) return `${name} must be there only once: upper and lower case are the same name`;
    seen.add(lower);
  }
  return undefined;
}

/** Those of a job's headers that go with its call: one filed before its topic had a webhook may have others. */
export function forwarded(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => !callbackHeadersError({ [name]: value }));
  return Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), value]));
}

function isOurs(name: string): boolean {
  return OURS.has(name) || OUR_PREFIXES.some((prefix) => name.startsWith(prefix));
}
