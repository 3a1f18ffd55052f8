import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Policy } from "./policy.ts";

/** Characters of JSON that stay readable. A function's whole environment has 4,096 bytes, and its mappings' ids take most of them. */
const LONG = 1000;

/** A policy as an environment variable has it: JSON, or, where that is long, JSON that is deflated (RFC 1951) in base64. */
export function policyText(policy: Policy): string {
  const json = JSON.stringify(policy);
  return json.length > LONG ? deflateRawSync(json).toString("base64") : json;
}

/** The policy that such a text is. Throws for any other text. */
export function policyIn(text: string): Policy {
  return JSON.parse(
    text.startsWith("{") ? text : inflateRawSync(Buffer.from(text, "base64")).toString(),
  ) as Policy;
}
