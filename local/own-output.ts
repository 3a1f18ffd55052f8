import { readFileSync } from "node:fs";

/** Enough for the lines that the runner writes between two checks of the files. */
const REMEMBERED = 1000;

/** Characters of the shortest line that identifies an output. */
const SHORTEST = 12;

/** Recognises files that hold the runner's own output, such as `minutehand local | tee out.txt` writes. */
export type OwnOutput = {
  readonly remember: (write: (line: string) => void) => (line: string) => void;
  readonly isIn: (path: string) => boolean;
};

export function rememberOutput(): OwnOutput {
  const lines: string[] = [];
  return {
    remember: (write) => (line) => {
      lines.push(...line.trim().split("\n"));
      lines.splice(0, lines.length - REMEMBERED);
      write(line);
    },
    isIn: (path) => {
      const last = lastLineOf(path);
      // Many files end with a line as short as `}`.
      return last.length >= SHORTEST && lines.includes(last);
    },
  };
}

function lastLineOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "";
  } catch {
    return "";
  }
}
