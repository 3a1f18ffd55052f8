import { MAX_SHARDS } from "./constants.ts";
import { MinutehandError } from "./errors.ts";

/** A part of a tick's work, for a further invocation of the tick's function. */
export type TickPart = {
  readonly shards: readonly number[];
  /** When the invocation stops to begin new work: ms since the epoch. */
  readonly until: number;
};

/** Writes the event that starts an invocation for a part. */
export function tickPartText({ shards, until }: TickPart): string {
  return JSON.stringify({ shards, until });
}

/**
 * Reads the part that an event of the tick's function asks for. `undefined`: the event asks for a whole tick, as the events of the minute
 * rule do.
 * @throws `bad-request` if the event has `shards` that are no shards, or no `until`
 *
 * @example
 * tickPartIn({ shards: [3, 4], until: 1772355600000 }) // the same part
 * tickPartIn({ source: "aws.events" }) // undefined
 */
export function tickPartIn(event: unknown): TickPart | undefined {
  if (typeof event !== "object" || event === null || !("shards" in event)) return undefined;
  const { shards, until } = event as { shards: unknown; until?: unknown };
  if (!Array.isArray(shards) || !shards.every(isShard)) {
    throw new MinutehandError("bad-request", `shards must be whole numbers from 0 to ${MAX_SHARDS - 1}`);
  }
  if (typeof until !== "number" || !Number.isSafeInteger(until)) {
    throw new MinutehandError("bad-request", "until must be ms since the epoch");
  }
  return { shards, until };
}

function isShard(shard: unknown): shard is number {
  return Number.isInteger(shard) && (shard as number) >= 0 && (shard as number) < MAX_SHARDS;
}
