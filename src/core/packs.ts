import { batchesOf } from "../general/batches.ts";
import { iso } from "../general/times.ts";
import { LONGEST_HIDE, PACK_BYTES, RELEASE_EARLY, SQS_MAX_DELAY } from "./constants.ts";
import { type Home, startsAt } from "./home.ts";
import { jobText, messageText } from "./message.ts";

/** Jobs of one topic and one group that start in the same second and share a message. `start`: the earliest start of them. */
export type Pack = { body: string; start: number; group?: string; homes: Home[] };

/** The packs are in the order of their starts. Larger jobs than `bytes`, and bodies that are no JSON (edited by hand), get their own. */
export function packsOf(
  topic: string,
  policy: { readonly pack: number },
  homes: readonly Home[],
  now: number,
  bytes = PACK_BYTES,
): Pack[] {
  const sentAt = iso(now);
  const bySecond = Map.groupBy(homes, (home) => `${Math.floor(startsAt(home) / 1000)} ${home.group ?? ""}`);
  const packs: Pack[] = [];
  for (const mates of bySecond.values()) {
    const texts = mates.map((home) => ({ home, text: jobText(home, sentAt) }));
    const limits = { count: policy.pack, bytes };
    const packOf = (batch: typeof texts): Pack => {
      const group = batch[0]?.home.group;
      return {
        body: messageText(
          topic,
          group,
          batch.map(({ text }) => text),
        ),
        start: Math.min(...batch.map(({ home }) => startsAt(home))),
        ...(group === undefined ? {} : { group }),
        homes: batch.map(({ home }) => home),
      };
    };
    const { true: whole = [], false: malformed = [] } = Object.groupBy(
      texts,
      ({ home }) => `${isJson(home.body)}`,
    );
    packs.push(...batchesOf(whole, ({ text }) => Buffer.byteLength(text), limits).map(packOf));
    packs.push(...malformed.map((one) => packOf([one])));
  }
  return packs.sort((a, b) => a.start - b.start);
}

/**
 * SQS's `DelaySeconds`. For `second`: the time left, rounded up, so that no message comes early. For `millisecond`: `RELEASE_EARLY` less,
 * rounded down: the consumer holds the message until the start.
 */
export function delaySecondsOf(start: number, now: number, precision: "second" | "millisecond"): number {
  const left = Math.min(Math.max(start - now, 0), SQS_MAX_DELAY);
  // rule: no-delay-past-the-start
  if (precision === "second") return Math.ceil(left / 1000);
  return Math.max(Math.floor((left - RELEASE_EARLY) / 1000), 0);
}

/** Answers SQS's visibility timeout, in seconds, for a message that must come again after `ms`, at most after `LONGEST_HIDE`. */
export function hideSecondsOf(ms: number): number {
  return Math.ceil(Math.min(Math.max(ms, 0), LONGEST_HIDE) / 1000);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
