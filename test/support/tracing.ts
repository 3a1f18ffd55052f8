import { context, type Span, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterAll, beforeAll, beforeEach } from "vitest";

/** Runs OpenTelemetry's own SDK in the tests of a file. `within` makes a span active, as the code of a caller does. */
export function withOpenTelemetry() {
  const exporter = new InMemorySpanExporter();
  beforeAll(() => new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register());
  beforeEach(() => exporter.reset());
  afterAll(() => {
    trace.disable();
    context.disable();
  });
  return {
    within: <T>(name: string, work: (span: Span) => Promise<T>): Promise<T> =>
      trace.getTracer("caller").startActiveSpan(name, async (span) => {
        const result = await work(span);
        span.end();
        return result;
      }),
    /** The spans that have ended. */
    spans: () =>
      exporter.getFinishedSpans().map((span) => ({
        name: span.name,
        traceId: span.spanContext().traceId,
        spanId: span.spanContext().spanId,
        parent: span.parentSpanContext?.spanId,
        status: span.status,
        kind: span.kind,
        attributes: span.attributes,
        exceptions: span.events.map(({ attributes }) => attributes?.["exception.message"]),
      })),
  };
}

export const traceparentOf = (span: Span): string => {
  const { traceId, spanId } = span.spanContext();
  return `00-${traceId}-${spanId}-01`;
};
