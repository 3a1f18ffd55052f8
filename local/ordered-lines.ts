/** ms that a line waits for earlier lines of other processes. A process writes within a millisecond, unless the machine is busy. */
const HOLD_MS = 50;

export type OrderedLines<Line> = {
  /** Writes a line after all lines of earlier times that arrive within `HOLD_MS`. `at`: ms since the epoch. */
  readonly add: (line: Line, at: number) => void;
  readonly flush: () => void;
};

/** Orders lines by their times. Lines of the same time keep the order of their arrival. */
export function orderLines<Line>(write: (line: Line) => void): OrderedLines<Line> {
  let waiting: { line: Line; at: number; until: number }[] = [];
  let timer: NodeJS.Timeout | undefined;

  function writeUntil(now: number): void {
    const sorted = waiting.toSorted((a, b) => a.at - b.at);
    const end = sorted.findLastIndex(({ until }) => until <= now) + 1;
    waiting = sorted.slice(end);
    for (const { line } of sorted.slice(0, end)) write(line);
  }

  function wait(): void {
    if (timer !== undefined || waiting.length === 0) return;
    // After a pause of this process its pipes may hold earlier lines. Node reads the pipes between the timers and `setImmediate`.
    const first = Math.min(...waiting.map(({ until }) => until));
    timer = setTimeout(() => setImmediate(writeReady), Math.max(0, Math.ceil(first - performance.now())));
  }

  function writeReady(): void {
    timer = undefined;
    writeUntil(performance.now());
    wait();
  }

  return {
    add: (line, at) => {
      waiting.push({ line, at, until: performance.now() + HOLD_MS });
      wait();
    },
    flush: () => writeUntil(Number.POSITIVE_INFINITY),
  };
}
