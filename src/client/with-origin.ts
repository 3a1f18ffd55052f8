import { chainHere } from "../environment/process.ts";
import { traceparentHere } from "../environment/tracing.ts";
import type { Transport } from "./call.ts";

/** Headers that say where a call comes from. */
type Origin = { readonly "minutehand-chain"?: string; readonly "minutehand-traceparent"?: string };

/**
 * Answers the chain of the job whose handler makes a call, which the API's guard against runaway jobs counts, and the active span, whose trace the
 * run continues. The header is not called `traceparent`: OpenTelemetry's instrumentation of `fetch` adds a second one of this name, and then
 * neither is valid (issue 3711, open-telemetry/opentelemetry-js-contrib), nor is the signature.
 */
export function originHere(): Origin {
  const chain = chainHere();
  const traceparent = traceparentHere();
  return {
    ...(chain !== undefined && { "minutehand-chain": chain }),
    ...(traceparent !== undefined && { "minutehand-traceparent": traceparent }),
  };
}

/** Makes calls say where they come from. */
export function withOrigin(transport: Transport): Transport {
  return (request, carrying) =>
    transport({ ...request, headers: { ...request.headers, ...originHere() } }, carrying);
}
