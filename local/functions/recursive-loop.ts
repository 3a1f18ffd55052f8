import { randomBytes } from "node:crypto";

/** Lambda does not run a message at the end of so long a chain ("Recursive loop detection", Lambda Developer Guide). */
export const LONGEST_CHAIN = 16;

type WithTrace = { readonly attributes?: { readonly AWSTraceHeader?: string } };

/** The last number of the header's `Lineage` counts the invocations in a chain that led to the message. */
export function chainLength(traceHeader: string | undefined): number {
  return Number(/(?:^|;)Lineage=[^;]*:(\d+)(?:;|$)/.exec(traceHeader ?? "")?.[1] ?? 0);
}

/** The invocation's chain is one longer than the longest chain of the event's messages. */
export function nextTraceHeader(event: { readonly Records?: readonly WithTrace[] } | null): string {
  const records = Array.isArray(event?.Records) ? (event.Records as readonly WithTrace[]) : [];
  const chain = Math.max(0, ...records.map(({ attributes }) => chainLength(attributes?.AWSTraceHeader)));
  const root = `1-${hex(4)}-${hex(12)}`;
  return `Root=${root};Parent=${hex(8)};Sampled=0;Lineage=1:${hex(4)}:${chain + 1}`;
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
