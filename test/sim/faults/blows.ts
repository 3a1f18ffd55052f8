import { drawsOf } from "../draws.ts";
import type { Lot } from "./lot.ts";

const BLOWS = [
  "purge",
  "lose-message",
  "duplicate-message",
  "native-redrive",
  "kill",
  "freeze-machine",
  "double-tick",
  "ttl",
  "more-shards",
] as const;
export type Blow = { key: string; kind: (typeof BLOWS)[number]; time: number };

export const LOSING = new Set<Blow["kind"]>(["purge", "lose-message"]);

/** A job's message is sent so long before the job is due. ms. */
const SENT_AHEAD = 180_000;

export function drawBlows(lot: Lot, opening: number): Blow[] {
  const { seed, draws, start, stretch } = lot;
  return BLOWS.flatMap((kind) => {
    const count = draws.whole(1, kind === "kill" || kind === "duplicate-message" ? 12 : 4);
    const times = Array.from({ length: count }, () => start + draws.next() * stretch.span);
    const sent = opening - drawsOf(seed, kind).next() * SENT_AHEAD;
    if (LOSING.has(kind) && sent > start && sent < start + stretch.span) times.push(sent);
    const isHere = lot.some(0.35);
    return isHere ? times.map((time, i) => ({ key: `blow:${kind}:${i}`, kind, time })) : [];
  });
}
