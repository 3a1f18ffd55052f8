import type {
  Attributes,
  ContextManager,
  Exception,
  Span,
  SpanContext,
  TracerProvider,
} from "@opentelemetry/api";
import { parseTraceparent, traceparentOf } from "../core/traceparent.ts";

/**
 * The traces of this process, if it runs OpenTelemetry's SDK. The SDK registers itself under a global symbol, by which all copies of version 1 of
 * `@opentelemetry/api` find it. So this code imports no package, and works in a bundle, and with an SDK of a Lambda layer:
 * docs/internals/decisions/clients.md.
 */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");
/** The key of the active span in a context. */
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");
/** `SpanKind.CONSUMER`. */
const CONSUMER = 4;
/** Of `SpanStatusCode`. */
const OK = 1;
const ERROR = 2;

type Registered = { readonly trace?: TracerProvider; readonly context?: ContextManager };

function registered(): Registered {
  return (globalThis as { [REGISTERED]?: Registered })[REGISTERED] ?? {};
}

/** Answers the span that is active here, in W3C's form. `undefined`: there is none. */
export function traceparentHere(): string | undefined {
  const span = registered().context?.active().getValue(SPAN) as Span | undefined;
  return span && traceparentOf(span.spanContext());
}

/** `exception`: what was thrown, if something was. */
export type Failure = { readonly message: string; readonly exception?: Exception };

/**
 * Does `work` in a new span, which is active meanwhile and whose parent is the caller's. Without an SDK, and for a malformed `traceparent`, only
 * does `work`, which must not throw. `failureOf` says how the work has failed; `undefined`: it has not.
 */
export async function inSpan<T>(
  traceparent: string,
  { name, attributes }: { readonly name: string; readonly attributes: Attributes },
  work: () => Promise<T>,
  failureOf: (result: T) => Failure | undefined,
): Promise<T> {
  const { trace, context } = registered();
  const parent = parseTraceparent(traceparent);
  if (!trace || !context || !parent) return work();
  const here = context.active();
  const caller = { spanContext: (): SpanContext => ({ ...parent, isRemote: true }) };
  const tracer = trace.getTracer("minutehand");
  const span = tracer.startSpan(name, { kind: CONSUMER, attributes }, here.setValue(SPAN, caller));
  const result = await context.with(here.setValue(SPAN, span), work);
  const failure = failureOf(result);
  if (failure?.exception !== undefined) span.recordException(failure.exception);
  span.setStatus(failure ? { code: ERROR, message: failure.message } : { code: OK });
  span.end();
  return result;
}
