import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Policy } from "./policy.ts";

/**
 * A policy of up to this many characters is stored as readable JSON. A function's whole environment has at most 4,096 bytes, and the
 * ids of the event source mappings take most of them.
 */
const LONGEST_READABLE = 1000;

/** Writes a policy for an environment variable: as JSON, or if that is long, as deflated JSON (RFC 1951) in base64. */
export function policyText(policy: Policy): string {
  const json = JSON.stringify(policy);
  return json.length > LONGEST_READABLE ? deflateRawSync(json).toString("base64") : json;
}

/** Reads a policy that `policyText` wrote. Throws for any other text. */
export function policyIn(text: string): Policy {
  return JSON.parse(
    text.startsWith("{") ? text : inflateRawSync(Buffer.from(text, "base64")).toString(),
  ) as Policy;
}
