const BASE = 36;
const NONE = "-";
const SEPARATOR = " ";
const TIMES = "*";

/** The earliest time, and the ms since then of each entry, equal ones once with their count. 500 different times need less than 5 KB. */
export function dueTimesText(times: readonly (number | undefined)[]): string {
  const earliest = Math.min(...times.filter((time) => time !== undefined));
  const runs: { entry: string; count: number }[] = [];
  for (const time of times) {
    const entry = time === undefined ? NONE : (time - earliest).toString(BASE);
    const last = runs.at(-1);
    if (last?.entry === entry) last.count += 1;
    else runs.push({ entry, count: 1 });
  }
  const texts = runs.map(({ entry, count }) => (count === 1 ? entry : `${entry}${TIMES}${count}`));
  return [Number.isFinite(earliest) ? earliest.toString(BASE) : NONE, ...texts].join(SEPARATOR);
}

export function dueTimesOf(text: string): (number | undefined)[] {
  const [earliest = NONE, ...runs] = text.split(SEPARATOR);
  return runs.flatMap((run) => {
    const [entry = NONE, count = "1"] = run.split(TIMES);
    const time = entry === NONE ? undefined : Number.parseInt(earliest, BASE) + Number.parseInt(entry, BASE);
    return Array.from({ length: Number(count) }, () => time);
  });
}
