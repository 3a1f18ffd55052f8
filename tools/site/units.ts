import { DAY } from "../../src/core/constants.ts";

const SECOND = 1000;
const UNITS: readonly (readonly [string, number])[] = [
  ["day", DAY],
  ["hour", DAY / 24],
  ["minute", 60 * SECOND],
  ["second", SECOND],
];

/** Formats ms in the greatest unit that divides them: `3 minutes`, `210 seconds`. */
export function durationText(ms: number): string {
  if (ms === 0) return "0";
  const [name, size] = UNITS.find(([, unit]) => ms % unit === 0) ?? ["ms", 1];
  const count = ms / size;
  return `${numberText(count)} ${name}${count === 1 || size === 1 ? "" : "s"}`;
}

/** Formats bytes in the greatest unit that divides them: `3 MB`, `256 KB`, `200 KiB`, `256 bytes`. */
export function bytes(count: number): string {
  if (count % 1_000_000 === 0) return `${count / 1_000_000} MB`;
  if (count % 1000 === 0) return `${count / 1000} KB`;
  if (count % (1024 * 1024) === 0) return `${count / 1024 / 1024} MiB`;
  return count % 1024 === 0 ? `${count / 1024} KiB` : `${count} bytes`;
}

/** Formats a number with commas: `1,000`. */
export function numberText(count: number): string {
  return count.toLocaleString("en");
}
