import { randomBytes } from "node:crypto";

/** After so many invocations in one chain Lambda drops the message ("Recursive loop detection", Lambda Developer Guide). */
export const LONGEST_CHAIN = 16;

type WithTrace = { readonly attributes?: { readonly AWSTraceHeader?: string } };

/** How many invocations in a chain led to a message with this trace header: the count at the end of its `Lineage`. */
export function chainLength(traceHeader: string | undefined): number {
  return Number(/(?:^|;)Lineage=[^;]*:(\d+)(?:;|$)/.exec(traceHeader ?? "")?.[1] ?? 0);
}

/** The trace header of an invocation with this event, one further in the chain than the longest that led to it. */
export function nextTraceHeader(event: { readonly Records?: readonly WithTrace[] } | null): string {
  const records = Array.isArray(event?.Records) ? (event.Records as readonly WithTrace[]) : [];
  const chain = Math.max(0, ...records.map(({ attributes }) => chainLength(attributes?.AWSTraceHeader)));
  const root = `1-${hex(4)}-${hex(12)}`;
  return `Root=${root};Parent=${hex(8)};Sampled=0;Lineage=1:${hex(4)}:${chain + 1}`;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
