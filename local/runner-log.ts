import type { LogLine } from "./log-lines.ts";
import { type OrderedLines, orderLines } from "./ordered-lines.ts";

/** In the order in which the lines happened. */
export type RunnerLog = {
  readonly say: (text: string) => void;
  readonly add: OrderedLines<LogLine>["add"];
  readonly flush: () => void;
  readonly progress: (line: string) => void;
};

/** `onLine` gets each line of the log, and `progress` each line about a slow step of the start. */
export function openRunnerLog(
  write: (line: string) => void,
  onLine: (line: LogLine) => void,
  progress: (line: string) => void = () => {},
): RunnerLog {
  const { add, flush } = orderLines<LogLine>((line) => {
    write(line.text);
    onLine(line);
  });
  return {
    say: (text) => {
      const at = Date.now();
      add({ text, at }, at);
    },
    add,
    flush,
    progress,
  };
}
