import { aheadText } from "./clock-words.ts";
import { type LogLine, timeOfDay } from "./log-lines.ts";
import { type OrderedLines, orderLines } from "./ordered-lines.ts";
import { createClock, type MovingClock } from "./services/clock.ts";

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
  clock: Pick<MovingClock, "now" | "ahead"> = createClock(),
): RunnerLog {
  const { add: addLine, flush } = orderLines<LogLine>((line) => {
    write(line.text);
    onLine(line);
  });
  const add: RunnerLog["add"] = (line, at) => {
    const ahead = aheadText(clock.ahead());
    addLine(ahead === undefined ? line : { ...line, text: `[${ahead}] ${line.text}` }, at);
  };
  return {
    say: (text) => {
      const at = clock.now();
      add({ text: `${timeOfDay(at)}  ${text}`, at }, at);
    },
    add,
    flush,
    progress,
  };
}
