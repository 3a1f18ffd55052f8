const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** Such as `+7d 1h`, with whole seconds. `undefined` if a clock is less than a second ahead. */
export function aheadText(ahead: number): string | undefined {
  let left = ahead;
  const parts = UNITS.flatMap(([name, ms]) => {
    const count = Math.floor(left / ms);
    left -= count * ms;
    return count === 0 ? [] : `${count}${name}`;
  });
  return parts.length === 0 ? undefined : `+${parts.join(" ")}`;
}
