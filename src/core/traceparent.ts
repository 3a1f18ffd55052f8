/** Version, trace, span and flags ("traceparent Header", W3C Trace Context). A longer form of a later version is not read. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A span of a trace, as OpenTelemetry names its parts. */
export type SpanName = { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };

/** Answers `undefined` for any other text. */
export function parseTraceparent(text: string): SpanName | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/** Answers `undefined` for a span that names no trace, such as the one that OpenTelemetry has where tracing is switched off. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanName): string | undefined {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  return parseTraceparent(text) && text;
}
