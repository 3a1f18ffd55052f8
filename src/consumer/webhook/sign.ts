import { Webhook } from "standardwebhooks";
import { keyOf, receiverSecret } from "./receiver-secret.ts";

/** `now`: ms since the epoch. `sharedSecret`: whether the topic's own secret signs too. */
type Signed = { url: string; id: string; now: number; body: string; sharedSecret: boolean };

export type Sign = (call: Signed) => string;

/**
 * Signs with a secret of the receiver from each of the topic's secrets, and with `sharedSecret` also with those, so that a receiver can verify
 * during a rotation. Leaves out older texts that are no secrets. Throws if the current one, the first, is none.
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
