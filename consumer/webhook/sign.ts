import { Webhook } from "standardwebhooks";
import { keyOf, receiverSecret } from "./receiver-secret.ts";

/** A call to be signed, made at `now` (ms since the epoch). `sharedSecret`: by the topic's own secret too. */
type Signed = { url: string; id: string; now: number; body: string; sharedSecret: boolean };

/** The `webhook-signature` of a call. */
export type Sign = (call: Signed) => string;

/**
 * Signs as Standard Webhooks does: with the receiver's secret that follows from each of the topic's, so that receivers who know
 * either can verify while one takes the other's place. Throws when the topic's first secret is none; an older one that is none
 * verifies nowhere and is left out.
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
