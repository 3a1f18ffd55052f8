import type { Surroundings } from "./surroundings.ts";

/** What is said of long work while it lasts. */
export type Progress = {
  show(text: string): void;
  /** Leaves nothing behind on a terminal. */
  clear(): void;
};

/** ms: faster than that nobody reads. */
const STEP = 100;
/** ms between lines of a log: often enough to see that it goes on. */
const LOG_STEP = 10_000;
const CLEAR_LINE = "\r\u001b[K";

/** One line of stderr, written over and over; where nobody looks, one now and then. */
export function createProgress({ stderr, clock }: Pick<Surroundings, "stderr" | "clock">): Progress {
  if (stderr.isTTY !== true) return logged({ stderr, clock });
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

/** Of short work nothing. */
function logged({ stderr, clock }: Pick<Surroundings, "stderr" | "clock">): Progress {
  let saidAt = clock();
  return {
    show(text) {
      if (clock() - saidAt < LOG_STEP) return;
      saidAt = clock();
      stderr.write(`${text}\n`);
    },
    clear() {},
  };
}
