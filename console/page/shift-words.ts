import type { DurationText } from "../../src/client/options.ts";
import { parseShift } from "../../src/general/times.ts";
import { durationText, HOUR, MINUTE, SECOND } from "./times.ts";

/** A shift as the API takes it, and in ms. */
export type Shift = { readonly text: DurationText; readonly ms: number };

/** A shift of more jobs is undone by its range: each job would be read with its timeline. */
export const MOST_SHIFTED = 5000;

/** Reads a shift: a number of hours such as `2` or `-0.5`, or a duration such as `-30m`. `undefined`: the words are no shift. */
export function readShift(words: string): Shift | undefined {
  const plain = words.trim().replace(/^\+/, "").replace(/^[−–]/, "-").replaceAll(" ", "");
  const isHours = /^-?\d+(\.\d+)?$/.test(plain);
  const ms = isHours ? Math.round(Number(plain) * HOUR) : parseShift(plain);
  if (ms === undefined || plain === "" || !Number.isSafeInteger(ms)) return undefined;
  return shiftOf(ms);
}

export function shiftOf(ms: number): Shift {
  const [unit = "ms", length = 1] = UNITS.find(([, size]) => ms % size === 0) ?? [];
  return { text: `${ms / length}${unit}` as DurationText, ms };
}

/** `2 h later` */
export function shiftText(ms: number): string {
  return `${durationText(Math.abs(ms))} ${ms < 0 ? "earlier" : "later"}`;
}

const UNITS = [
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
] as const;
