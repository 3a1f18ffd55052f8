import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

/**
 * Computes the secret with which a webhook topic signs its calls to one receiver.
 *
 * The secret has the form of Standard Webhooks: `whsec_` and 32 bytes in base64. It is derived from the topic's secret and the origin
 * of the receiver's URL, such as `https://shop.example`. All URLs of one origin have the same secret. The secret reveals neither the
 * topic's secret nor the secret of another receiver, so a receiver cannot forge a call to another receiver.
 *
 * Throws an `Error` if the topic's secret is empty or not base64, and a `RangeError` if the URL does not begin with `https:` or `http:`.
 *
 * @param topicSecret the topic's secret from Secrets Manager: base64, with or without `whsec_` before it
 * @param url the URL of the receiver, with or without a path
 * @example
 * receiverSecret(topicSecret, "https://shop.example/hooks") // "whsec_…"
 */
export function receiverSecret(topicSecret: string, url: string): string {
  const key = keyOf(topicSecret);
  const { origin = "null" } = URL.parse(url) ?? {};
  if (!/^https?:/.test(origin))
    throw new RangeError(
      `a receiver's URL must be an http: or https: URL such as https://shop.example/hooks, got ${JSON.stringify(url)}`,
    );
  return `whsec_${createHmac("sha256", key).update(`minutehand receiver ${origin}`).digest("base64")}`;
}

/** Throws if the text is not a secret. */
export function keyOf(secret: string): Uint8Array {
  try {
    new Webhook(secret);
  } catch {
    // The error may be logged, so it names neither the value nor the package's own error.
    throw new Error(`a webhook's secret must be base64, with or without "whsec_" before it, and not empty`);
  }
  return Buffer.from(secret.replace(/^whsec_/, ""), "base64");
}
