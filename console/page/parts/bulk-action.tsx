import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Change } from "../../carried.ts";
import { startAction } from "../actions.ts";
import {
  type Asked,
  type CountLine,
  changeableIn,
  chosenLines,
  isCounted,
  jobsText,
  planOf,
  useCount,
} from "../bulk-calls.ts";
import { selectionText, wordsOf } from "../bulk-words.ts";
import { clock } from "../clock.ts";
import { isoAt } from "../times.ts";
import { Action } from "./action.tsx";
import { CountedLines } from "./counted-lines.tsx";
import { RateField, rateOf } from "./rate-field.tsx";
import { type Labels, Several, type Which, whichLines } from "./several.tsx";

type Props = {
  /** Without a button: the dialog is open from the beginning, and calls this when it closes. */
  readonly opened?: () => void;
  readonly label: string;
  readonly short?: string | undefined;
  readonly change: Change;
  /** Which jobs the user may choose from, or the lines of a plan that the user cannot extend. */
  readonly which: Which | readonly Asked[];
  /** What happens to the jobs, such as `become due now`. */
  readonly effect: string;
  readonly isDangerous?: boolean;
  readonly takesRate?: boolean;
  /** Whether the user may add further tags and groups. */
  readonly takesSeveral?: boolean;
  readonly isReady?: boolean;
  readonly impossible?: string | undefined;
  readonly children?: ComponentChildren;
  /** What the user must know about the counted number of jobs. */
  readonly judge?: (jobs: number) => ComponentChildren;
};

/** First counts the jobs and changes nothing. Then the server of the console changes them, and each view shows how far it is. */
export function BulkAction({ label, change, which, effect, isReady = true, ...props }: Props) {
  const { opened, short, isDangerous, takesRate, takesSeveral, impossible, children, judge } = props;
  const [rate, setRate] = useState("");
  const { lines, count, open, choose, stop, labels, setLabels } = useLines(change, which);
  const changeable = changeableIn(lines);
  const chosen = chosenLines(lines);
  const isAllCounted = lines.length > 0 && lines.every(isCounted);
  return (
    <Action
      {...{ label, short }}
      title={`${wordsOf(change).asks} of ${selectionText((chosen.length > 0 ? chosen : lines).map(({ asked }) => asked))}?`}
      confirm={isAllCounted ? `${label}: ${jobsText(changeable)}` : label}
      isDangerous={isDangerous === true}
      isReady={isReady && isAllCounted && changeable > 0}
      impossible={impossible}
      onOpen={open}
      isOpenAtOnce={opened !== undefined}
      onClose={() => {
        stop();
        opened?.();
      }}
      takesReason
      run={(why) => start({ ...change, ...paceOf(rate), ...why }, lines)}
    >
      {children}
      {takesRate && (
        <RateField value={rate} onChange={setRate} jobs={isAllCounted ? mostOf(lines) : undefined} />
      )}
      {takesRate && lines.length > 1 && (
        <p class="quiet">Each line below has this rate. The lines are changed one after the other.</p>
      )}
      {takesSeveral && <Several labels={labels} onChange={setLabels} />}
      <CountedLines {...{ lines, choose, effect }} action={change.action} again={count} />
      {isAllCounted && judge?.(changeable)}
      <p class="undo">{wordsOf(change).undo}</p>
    </Action>
  );
}

/** The bar of actions says what becomes of it. */
async function start(change: Change, lines: readonly CountLine[]): Promise<undefined> {
  await startAction(planOf(withFixedTime(change), lines));
}

function paceOf(rate: string): { ratePerSecond?: number } {
  const perSecond = rateOf(rate);
  return perSecond === undefined ? {} : { ratePerSecond: perSecond };
}

/** All jobs move to the time that the user has confirmed, also those whose turn comes later. */
function withFixedTime({ delay, ...change }: Change): Change {
  return typeof delay === "number" ? { ...change, dueAt: isoAt(clock() + delay * 1000) } : change;
}

/** The counted lines of a plan. They are counted again when the user names other tags or groups. */
function useLines(change: Change, which: Props["which"]) {
  const [labels, setLabels] = useState({ tags: "", groups: "" });
  const { count, ...counting } = useCount(change);
  const countFor = (given: Labels) => {
    setLabels(given);
    void count("topics" in which ? whichLines(which, given) : which);
  };
  const { tag = "", group = "", topics = [] } = "topics" in which ? which : {};
  const isOpen = useRef(false);
  // A dialog may be opened before the page has read the topics.
  useEffect(() => {
    if (isOpen.current) countFor(labels);
  }, [topics.join(" ")]);
  return {
    ...counting,
    labels,
    count: () => countFor(labels),
    open() {
      isOpen.current = true;
      countFor({ tags: tag, groups: group });
    },
    stop() {
      isOpen.current = false;
      counting.stop();
    },
    setLabels: countFor,
  };
}

/** The rate is for each line of the plan, so the longest line says how long the starts take. */
function mostOf(lines: readonly CountLine[]): number {
  return Math.max(...lines.map((line) => changeableIn([line])));
}
