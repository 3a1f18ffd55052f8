import { MAX_SHARDS } from "./constants.ts";
import { MinutehandError } from "./errors.ts";

/** Shards that a tick gives to a further invocation of its function, which sweeps and audits them. */
export type TickPart = {
  readonly shards: readonly number[];
  /** The queues that have hung in the tick, by the names that the circuit breaker gives them. */
  readonly hung: readonly string[];
  /** When the invocation stops to begin new work: ms since the epoch. */
  readonly until: number;
};

/** Writes the event that starts an invocation for a part. */
export function tickPartText({ shards, hung, until }: TickPart): string {
  return JSON.stringify({ shards, hung, until });
}

/**
 * Reads the part that an event of the tick's function asks for. `undefined`: the event asks for a whole tick, as the events of the minute
 * rule do.
 * @throws `bad-request` if the event has `shards` that are no shards, or lacks another field of a part
 *
 * @example
 * tickPartIn({ shards: [3, 4], hung: [], until: 1772355600000 }) // the same part
 * tickPartIn({ source: "aws.events" }) // undefined
 */
export function tickPartIn(event: unknown): TickPart | undefined {
  if (typeof event !== "object" || event === null || !("shards" in event)) return undefined;
  const { shards, hung, until } = event as Record<keyof TickPart, unknown>;
  if (!Array.isArray(shards) || !shards.every(isShard)) {
    throw new MinutehandError("bad-request", `shards must be whole numbers from 0 to ${MAX_SHARDS - 1}`);
  }
  if (!isListOfTexts(hung)) throw new MinutehandError("bad-request", "hung must be a list of texts");
  if (typeof until !== "number" || !Number.isSafeInteger(until)) {
    throw new MinutehandError("bad-request", "until must be ms since the epoch");
  }
  return { shards, hung, until };
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isShard(shard: unknown): shard is number {
  return Number.isInteger(shard) && (shard as number) >= 0 && (shard as number) < MAX_SHARDS;
}
