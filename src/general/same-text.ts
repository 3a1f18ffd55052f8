import { createHash, timingSafeEqual } from "node:crypto";

/** Compares secrets: it takes the same time whatever the difference is. */
export function isSameText(given: string, wanted: string): boolean {
  const [one, other] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}
