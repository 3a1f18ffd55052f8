/** Minutes of a row: the smallest step that fits the range into `ROWS` rows (one more if it begins within a row), else days. */
const STEPS = [1, 5, 15, 30, 60, 180, 360, 720];
const ROWS = 24;
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Draws bars of how many jobs fall due from `from` until `to` (ms since the epoch), in UTC, on lines of at most `width` characters. */
export function chartOf(
  minutes: readonly { minute: string; count: number }[],
  from: number,
  to: number,
  width: number,
): string[] {
  const span = to - from;
  const step = (STEPS.find((minutes) => span / (minutes * MINUTE) <= ROWS) ?? 1440) * MINUTE;
  const begin = from - (from % step);
  const counts = Array.from({ length: Math.ceil((to - begin) / step) }, () => 0);
  for (const { minute, count } of minutes) {
    const row = Math.floor((Date.parse(minute) - begin) / step);
    counts[row] = (counts[row] ?? 0) + count;
  }
  const most = Math.max(1, ...counts);
  const digits = most.toLocaleString("en").length;
  return counts.map((count, row) => {
    const time = new Date(begin + row * step).toISOString();
    const label = span > DAY ? time.slice(0, 16).replace("T", " ") : time.slice(11, 16);
    const room = Math.max(1, width - label.length - digits - 4);
    return `${label}  ${count.toLocaleString("en").padStart(digits)}  ${bar((count / most) * room)}`.trimEnd();
  });
}

/** A bar of `length` characters, rounded to an eighth of a character. Every count above 0 gets at least one eighth. */
function bar(length: number): string {
  const eighths = length === 0 ? 0 : Math.max(1, Math.round(length * 8));
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}
