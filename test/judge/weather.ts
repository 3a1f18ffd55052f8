import type { Draws } from "../sim/draws.ts";

/**
 * `none`: no effect. `lost`: no answer. `twice`: as `lost`, and the SDK sends it again. `late`: a write takes effect up to five minutes
 * after its caller has given up. `crash`: the process dies before the call, or after its effect. `freeze`: the process stands still for up
 * to 200 s. `slow`: up to 20 s. `brownout`: for 20 s, a partition of the table answers only one call of four.
 */
const FAULTS = ["none", "lost", "twice", "late", "crash", "freeze", "slow", "brownout"] as const;

/** How often each fault hits a call of a process: probabilities. */
export type Weather = Readonly<Record<(typeof FAULTS)[number], number>>;

export const CALM = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Weather;

/** Draws a weather that has about half of the faults. */
export function drawWeather(draws: Draws): Weather {
  const share = (): number => (draws.chance(0.45) ? draws.pick([0.01, 0.03, 0.08, 0.15]) : 0);
  const weather = Object.fromEntries(FAULTS.map((fault) => [fault, share()])) as Weather;
  return { ...weather, crash: weather.crash / 2 };
}

const BROWNOUT = 20_000;

/** Whether a brownout keeps one of these partitions from answering a call. It hits a partition for some time, and leaves the others alone. */
export function isBrownedOut(weather: Weather, now: number, partitions: readonly string[], draws: Draws) {
  if (weather.brownout === 0) return false;
  const slot = Math.floor(now / BROWNOUT);
  const isHit = partitions.some((pk) => share(`${pk} ${slot}`) < weather.brownout);
  return isHit && draws.chance(0.75);
}

function share(text: string): number {
  let hash = 2_166_136_261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  // Texts that differ only at their ends have similar hashes, so these are mixed once more.
  hash = Math.imul(hash ^ (hash >>> 15), 0x85eb_ca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) / 4_294_967_296;
}
