const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** A length of time, such as `7d 1h` or `59m 34s`, to the nearest second. Below a minute with its milliseconds, such as `0.312s`. */
export function lengthText(ms: number): string {
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(3))}s`;
  let left = Math.round(ms / 1_000) * 1_000;
  const parts = UNITS.flatMap(([name, ms]) => {
    const count = Math.floor(left / ms);
    left -= count * ms;
    return count === 0 ? [] : `${count}${name}`;
  });
  return parts.join(" ");
}

/** Such as `+7d 1h`, to the nearest second. `undefined` if a clock is less than half a second ahead. */
export function aheadText(ahead: number): string | undefined {
  const ms = Math.round(ahead / 1_000) * 1_000;
  return ms === 0 ? undefined : `+${lengthText(ms)}`;
}
