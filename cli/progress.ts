import type { Surroundings } from "./surroundings.ts";

/** What is said of long work while it lasts. */
export type Progress = {
  show(text: string): void;
  /** Leaves nothing behind. */
  clear(): void;
};

/** ms: faster than that nobody reads. */
const STEP = 100;
const CLEAR_LINE = "\r\u001b[K";

/** One line of stderr, written over and over; nothing at all where nobody looks. */
export function createProgress({ stderr, clock }: Pick<Surroundings, "stderr" | "clock">): Progress {
  if (stderr.isTTY !== true) return { show: () => {}, clear: () => {} };
  let shownAt: number | undefined;
  return {
    show(text) {
      if (shownAt !== undefined && clock() - shownAt < STEP) return;
      shownAt = clock();
      stderr.write(`${CLEAR_LINE}${text.slice(0, (stderr.columns ?? 80) - 1)}`);
    },
    clear() {
      if (shownAt === undefined) return;
      shownAt = undefined;
      stderr.write(CLEAR_LINE);
    },
  };
}
