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
  return unlessBroken(() => {
    const span = registered().context?.active().getValue(SPAN) as Span | undefined;
    return span && traceparentOf(span.spanContext());
  });
}

/** The SDK calls code of the user, such as span processors. A trouble with traces must not become one of the jobs. */
function unlessBroken<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
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
  const parent = parseTraceparent(traceparent);
  let running: Promise<T> | undefined;
  const run = () => (running ??= work());
  const span = unlessBroken(() => {
    const { trace, context } = registered();
    if (!trace || !context || !parent) return undefined;
    const here = context.active();
    const caller = { spanContext: (): SpanContext => ({ ...parent, isRemote: true }) };
    const tracer = trace.getTracer("minutehand");
    const begun = tracer.startSpan(name, { kind: CONSUMER, attributes }, here.setValue(SPAN, caller));
    void context.with(here.setValue(SPAN, begun), run);
    return begun;
  });
  const result = await run();
  unlessBroken(() => endSpan(span, failureOf(result)));
  return result;
}

function endSpan(span: Span | undefined, failure: Failure | undefined): void {
  if (failure?.exception !== undefined) span?.recordException(failure.exception);
  span?.setStatus(failure ? { code: ERROR, message: failure.message } : { code: OK });
  span?.end();
}
