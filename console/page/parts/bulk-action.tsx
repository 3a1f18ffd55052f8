import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { BulkResult } from "../../../src/client/answers.ts";
import type { BulkRequest } from "../../../src/client/options.ts";
import { type Counting, jobsText, selectionText, useChange, useCount, WORDS } from "../bulk-calls.ts";
import { Action } from "./action.tsx";
import { RateField, rateOf } from "./rate-field.tsx";
import { Time } from "./time.tsx";

type Props = {
  readonly label: string;
  readonly request: BulkRequest;
  /** What happens to the jobs, such as `become due now`. */
  readonly effect: string;
  readonly isDangerous?: boolean;
  readonly takesRate?: boolean;
  readonly isReady?: boolean;
  readonly impossible?: string | undefined;
  readonly children?: ComponentChildren;
};

/** First counts the jobs and changes nothing. Then shows the progress, what was skipped and why, and continues an interrupted change. */
export function BulkAction({ label, request, effect, isReady = true, ...props }: Props) {
  const { isDangerous, takesRate, impossible, children } = props;
  const [rate, setRate] = useState("");
  const counting = useCount(request);
  const changing = useChange(request, counting.counted, rateOf(rate));
  const { changeable, isCounted } = counting;
  const { sums, isRunning, cursor } = changing;
  const { asks, done: past } = WORDS[request.action];

  function count(): void {
    changing.forget();
    void counting.count();
  }

  return (
    <Action
      label={label}
      title={`${asks} of ${selectionText(request)}?`}
      confirm={cursor === undefined ? `${label}: ${jobsText(changeable)}` : "Go on"}
      isDangerous={isDangerous === true}
      isReady={isReady && isCounted && changeable > 0}
      impossible={isRunning ? `it still runs: ${jobsText(sums?.changed ?? 0)} ${past} so far` : impossible}
      onOpen={count}
      onClose={counting.stop}
      takesReason
      run={changing.run}
    >
      {children}
      {takesRate && <RateField value={rate} onChange={setRate} jobs={isCounted ? changeable : undefined} />}
      <div role="status">
        <Counted {...{ counting, request, effect, count }} />
        {sums && <Progress {...{ sums, past, isRunning }} />}
      </div>
    </Action>
  );
}

function Progress({ sums, past, isRunning }: { sums: BulkResult; past: string; isRunning: boolean }) {
  return (
    <p>
      <progress max={100} value={shareOf(sums)} aria-label="Share of the range that is done" />{" "}
      {jobsText(sums.changed)} {past}
      {isRunning && ". If you close this dialog, the change goes on"}
    </p>
  );
}

type CountedProps = Pick<Props, "request" | "effect"> & {
  readonly counting: Counting;
  readonly count: () => void;
};

function Counted({
  counting: { counted, isCounted, changeable, trouble },
  request,
  effect,
  count,
}: CountedProps) {
  if (trouble !== undefined) return <CountFailed trouble={trouble} again={count} />;
  if (counted === undefined || !isCounted) {
    return (
      <p>
        Counting the jobs: {jobsText(counted?.matched ?? 0)} so far
        {counted && `, ${shareOf(counted)} % of the range read`} …
      </p>
    );
  }
  return (
    <p>
      <strong>{jobsText(changeable)}</strong> of <strong>{selectionText(request)}</strong>
      {request.action === "redrive" ? " that died since " : " due from "}
      <Time at={counted.from} show="time" />
      {request.action !== "redrive" && (
        <>
          {" "}
          until <Time at={counted.to} show="time" />
        </>
      )}{" "}
      {effect}.
    </p>
  );
}

function CountFailed({ trouble, again }: { trouble: string; again: () => void }) {
  return (
    <div class="failure">
      <p>The jobs could not be counted: {trouble}</p>
      <button type="button" onClick={again}>
        Count again
      </button>
    </div>
  );
}

function shareOf({ from, to, reached }: BulkResult): number {
  const [begin, end, at] = [Date.parse(from), Date.parse(to), Date.parse(reached)];
  return Math.floor((100 * (at - begin)) / Math.max(end - begin, 1));
}
