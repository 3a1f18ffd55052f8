import { batchesOf } from "../general/batches.ts";
import { iso } from "../general/times.ts";
import { LONGEST_HIDE, PACK_BYTES, RELEASE_EARLY, SQS_MAX_DELAY } from "./constants.ts";
import { startsAt } from "./home.ts";
import type { Home } from "./items.ts";
import { jobText, messageText } from "./message.ts";
import type { TopicPolicy } from "./policy.ts";

/** Jobs of one topic and one group that start in the same second and share a message. `start`: the earliest start of them. */
export type Pack = { body: string; start: number; group?: string; homes: Home[] };

/**
 * Packs jobs of one topic that are sent `now`. A pack holds at most `policy.pack` jobs and `bytes` bytes. A job that is larger than
 * `bytes` gets a pack of its own. So does a job whose body is no JSON, because nobody can parse its message: for example, someone has
 * edited its home by hand. The packs are in the order of their starts.
 */
export function packsOf(
  topic: string,
  policy: TopicPolicy,
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
 * Answers SQS's `DelaySeconds` for a message whose jobs start at `start`. For `second`: the time left, rounded up, so that no message
 * comes early. For `millisecond`: `RELEASE_EARLY` less, rounded down. The consumer then holds the message until the start. The answer is
 * 0 if no time is left, and never more than SQS allows.
 */
export function delaySecondsOf(start: number, now: number, precision: TopicPolicy["precision"]): number {
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
