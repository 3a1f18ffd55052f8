import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Policy } from "./policy.ts";

/**
 * Writes a policy for an environment variable: as JSON, or as deflated JSON (RFC 1951) in base64 if that is shorter. A function's whole
 * environment has at most 4,096 bytes.
 */
export function policyText(policy: Policy): string {
  const json = JSON.stringify(policy);
  const deflated = deflateRawSync(json, { level: 9 }).toString("base64");
  return deflated.length < Buffer.byteLength(json) ? deflated : json;
}

/** Reads a policy that `policyText` wrote. Throws for any other text. */
export function policyIn(text: string): Policy {
  return JSON.parse(
    text.startsWith("{") ? text : inflateRawSync(Buffer.from(text, "base64")).toString(),
  ) as Policy;
}
