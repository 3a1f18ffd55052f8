import type { Home } from "../../src/core/home.ts";
import { homeKey } from "../../src/core/item-keys.ts";
import { drawJobId } from "../../src/core/job-id.ts";

export const TIME = Date.UTC(2026, 2, 1, 9, 30, 15, 250);
/** Bytes that are the same at each call. */
export const counting = (count: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => i * 7 + 3);

/** A waiting job of topic `t` that is due at `TIME`, with these fields changed. */
export function waitingHome(fields: Partial<Home> = {}): Home {
  const id = drawJobId(TIME, 8, counting);
  const base = {
    ...homeKey(id),
    v: 1,
    id,
    topic: "t",
    body: "{}",
    state: "scheduled",
    dueAt: TIME,
    wantedAt: TIME,
  };
  return { ...base, revision: 0, attempt: 0, createdAt: TIME, ...fields } as Home;
}
