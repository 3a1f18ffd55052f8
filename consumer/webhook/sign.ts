import { Webhook } from "standardwebhooks";
import { keyOf, receiverSecret } from "./receiver-secret.ts";

/** A call to be signed. `now`: ms since the epoch. `sharedSecret`: whether the topic's own secret signs too. */
type Signed = { url: string; id: string; now: number; body: string; sharedSecret: boolean };

/** Answers the `webhook-signature` of a call. */
export type Sign = (call: Signed) => string;

/**
 * Makes the function that signs calls as Standard Webhooks does. It derives a secret of the receiver from each of the topic's secrets
 * (`receiverSecret`), and signs a call with each derived secret. With `sharedSecret` it also signs with each of the topic's secrets. So
 * while the topic's secret is changed, a receiver can verify a call with the old or the new one. An older text that is not a secret is
 * left out.
 *
 * @throws if the topic's current secret, the first, is not a secret
 */
export function signWith([current = "", ...older]: readonly string[]): Sign {
  keyOf(current);
  const secrets = [current, ...older.filter(isSecret)];
  return ({ url, id, now, body, sharedSecret }) => {
    const own = secrets.map((secret) => receiverSecret(secret, url));
    const all = sharedSecret ? [...own, ...secrets] : own;
    return all.map((secret) => new Webhook(secret).sign(id, new Date(now), body)).join(" ");
  };
}

function isSecret(secret: string): boolean {
  try {
    keyOf(secret);
    return true;
  } catch {
    return false;
  }
}
