import { Webhook } from "standardwebhooks";

/** The `webhook-signature` of a call made at `now` (ms since the epoch). */
export type Sign = (id: string, now: number, body: string) => string;

/**
 * Signs as Standard Webhooks does, with each secret, so that receivers who know either can verify while one takes
 * the other's place. Throws when the first is none; an older one that is none verifies nowhere and is left out.
 */
export function signWith([current = "", ...older]: readonly string[]): Sign {
  const keys = [keyOf(current), ...older.flatMap((secret) => keyIfAny(secret))];
  return (id, now, body) => keys.map((key) => key.sign(id, new Date(now), body)).join(" ");
}

function keyOf(secret: string): Webhook {
  try {
    return new Webhook(secret);
  } catch {
    // Not the value, nor the package's error: a log is no place for a secret.
    throw new Error(`a webhook's secret must be base64, with or without "whsec_" before it, and not empty`);
  }
}

function keyIfAny(secret: string): Webhook[] {
  try {
    return [keyOf(secret)];
  } catch {
    return [];
  }
}
