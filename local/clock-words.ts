const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** Such as `+7d 1h`, to the nearest second. `undefined` if a clock is less than half a second ahead. */
export function aheadText(ahead: number): string | undefined {
  let left = Math.round(ahead / 1_000) * 1_000;
  const parts = UNITS.flatMap(([name, ms]) => {
    const count = Math.floor(left / ms);
    left -= count * ms;
    return count === 0 ? [] : `${count}${name}`;
  });
  return parts.length === 0 ? undefined : `+${parts.join(" ")}`;
}
