import type { Surroundings } from "./surroundings.ts";

export type Progress = {
  show(text: string): void;
  clear(): void;
};

/** ms between two updates on a terminal: nobody could read faster updates. */
const STEP = 100;
/** ms between two lines of a log: often enough to see that the work goes on. */
const LOG_STEP = 10_000;
/** A terminal of unknown width says that it has 0 columns, or no number. */
export const USUAL_COLUMNS = 80;
const CLEAR_LINE = "\r\u001b[K";

/** Shows progress on stderr: one line that is overwritten on a terminal, or a new line now and then in a log. */
export function createProgress({ stderr, clock }: Pick<Surroundings, "stderr" | "clock">): Progress {
  if (stderr.isTTY !== true) return logged({ stderr, clock });
  let shownAt: number | undefined;
  return {
    show(text) {
      if (shownAt !== undefined && clock() - shownAt < STEP) return;
      shownAt = clock();
      stderr.write(`${CLEAR_LINE}${text.slice(0, (stderr.columns || USUAL_COLUMNS) - 1)}`);
    },
    clear() {
      if (shownAt === undefined) return;
      shownAt = undefined;
      stderr.write(CLEAR_LINE);
    },
  };
}

/** Progress in a log. Work of less than `LOG_STEP` writes nothing. */
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
