import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

/**
 * The secret that signs a webhook topic's calls of one receiver, as Standard Webhooks writes it: `whsec_` and 32 bytes in base64.
 * It follows from the topic's own secret and from the origin of the receiver's URL, such as `https://shop.example`: all URLs of
 * one origin have the same. Nobody can work out the topic's secret from it, nor another receiver's. So what one receiver knows,
 * or was sent, forges no call of another.
 *
 * Throws for a topic's secret that is not base64 or is empty, and for a URL that is not one of `https:` or `http:`.
 *
 * @param topicSecret base64, with or without `whsec_` before it: what Secrets Manager has for the topic
 * @param url of the receiver, with or without a path
 * @example
 * receiverSecret(topicSecret, "https://shop.example/hooks") // "whsec_…"
 */
export function receiverSecret(topicSecret: string, url: string): string {
  const key = keyOf(topicSecret);
  const { origin = "null" } = URL.parse(url) ?? {};
  if (!/^https?:/.test(origin))
    throw new RangeError(
      `a receiver's URL must be one such as https://shop.example/hooks, got ${JSON.stringify(url)}`,
    );
  return `whsec_${createHmac("sha256", key).update(`minutehand receiver ${origin}`).digest("base64")}`;
}

/** The bytes of a secret. Throws for one that is none. */
export function keyOf(secret: string): Uint8Array {
  try {
    new Webhook(secret);
  } catch {
    // Not the value, nor the package's error: a log is no place for a secret.
    throw new Error(`a webhook's secret must be base64, with or without "whsec_" before it, and not empty`);
  }
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}
