import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { BulkRequest, BulkResult } from "../../../client/client.ts";
import { MinutehandError, messageOf } from "../../../core/errors.ts";
import { api } from "../api.ts";
import { withVisibleMarks } from "../direction.ts";
import { Action } from "./action.tsx";
import { RateField, rateOf } from "./rate-field.tsx";
import { Time } from "./time.tsx";

/** What each action asks before, and how it names the jobs that it has changed. */
const WORDS: Readonly<Record<BulkRequest["action"], { readonly asks: string; readonly done: string }>> = {
  run: { asks: "Run now all waiting jobs", done: "brought forward" },
  move: { asks: "Move all waiting jobs", done: "moved" },
  cancel: { asks: "Cancel all waiting jobs", done: "cancelled" },
  redrive: { asks: "Redrive all dead jobs", done: "redriven" },
};

type Props = {
  readonly label: string;
  readonly request: BulkRequest;
  /** What happens to the jobs, such as `become due now`. */
  readonly effect: string;
  readonly isDangerous?: boolean;
  readonly takesRate?: boolean;
  /** Whether the further fields are filled in. */
  readonly isReady?: boolean;
  /** Why the action is not possible now. */
  readonly impossible?: string | undefined;
  /** Further fields. */
  readonly children?: ComponentChildren;
};

/**
 * A button of an action on many jobs. The dialog first counts the jobs and changes nothing. Then it shows how far the change has come, what
 * was skipped and why, and continues a change that was interrupted.
 */
export function BulkAction({ label, request, effect, isReady = true, ...props }: Props) {
  const { isDangerous, takesRate, impossible, children } = props;
  const [counted, setCounted] = useState<BulkResult | undefined>();
  const [trouble, setTrouble] = useState<string | undefined>();
  const [sums, setSums] = useState<BulkResult | undefined>();
  const [cursor, setCursor] = useState<string | undefined>();
  const [isRunning, setRunning] = useState(false);
  const [rate, setRate] = useState("");
  const counting = useRef<AbortController | undefined>(undefined);
  const perSecond = rateOf(rate);
  const changeable = counted ? counted.matched - skippedOf(counted) : 0;
  const isCounted = counted !== undefined && counted.cursor === undefined;
  const { asks, done: past } = WORDS[request.action];
  const whose = selectionText(request);

  async function count(): Promise<void> {
    counting.current?.abort();
    const stop = new AbortController();
    counting.current = stop;
    setCounted(undefined);
    setSums(undefined);
    setCursor(undefined);
    setTrouble(undefined);
    try {
      await api.bulk({ ...request, dryRun: true, signal: stop.signal }, setCounted);
    } catch (error) {
      if (!stop.signal.aborted) setTrouble(messageOf(error));
    }
  }

  async function run(): Promise<string> {
    if (counted === undefined) throw new Error("the jobs have not been counted");
    const { from, to } = counted;
    setRunning(true);
    try {
      // Change the range that was counted: a default range would be later by now.
      const whole = {
        ...request,
        from,
        to,
        ...(perSecond === undefined ? {} : { ratePerSecond: perSecond }),
      };
      const done = await api.bulk(cursor === undefined ? whole : { ...whole, cursor }, setSums);
      const left = skippedOf(done);
      const skipped = left === 0 ? "" : ` ${left.toLocaleString("en")} were not changed: ${reasonsOf(done)}.`;
      return `${past.charAt(0).toUpperCase()}${past.slice(1)} ${jobsText(done.changed)} of ${whose}.${skipped}`;
    } catch (error) {
      if (error instanceof MinutehandError && typeof error.data.cursor === "string")
        setCursor(error.data.cursor);
      throw error;
    } finally {
      setRunning(false);
    }
  }

  return (
    <Action
      label={label}
      title={`${asks} of ${whose}?`}
      confirm={cursor === undefined ? `${label}: ${jobsText(changeable)}` : "Go on"}
      isDangerous={isDangerous === true}
      isReady={isReady && isCounted && changeable > 0}
      impossible={isRunning ? `it still runs: ${jobsText(sums?.changed ?? 0)} ${past} so far` : impossible}
      onOpen={() => void count()}
      onClose={() => counting.current?.abort()}
      run={run}
    >
      {children}
      {takesRate && <RateField value={rate} onChange={setRate} jobs={isCounted ? changeable : undefined} />}
      <div role="status">
        {trouble !== undefined && (
          <div class="failure">
            <p>The jobs could not be counted: {trouble}</p>
            <button type="button" onClick={() => void count()}>
              Count again
            </button>
          </div>
        )}
        {trouble === undefined && !isCounted && (
          <p>
            Counting the jobs: {jobsText(counted?.matched ?? 0)} so far
            {counted && `, ${shareOf(counted)} % of the range read`} …
          </p>
        )}
        {counted && isCounted && (
          <p>
            <strong>{jobsText(changeable)}</strong> of <strong>{whose}</strong>
            {request.action === "redrive" ? (
              <>
                {" "}
                that died since <Time at={counted.from} show="time" />
              </>
            ) : (
              <>
                {" "}
                due from <Time at={counted.from} show="time" /> until <Time at={counted.to} show="time" />
              </>
            )}{" "}
            {effect}.
          </p>
        )}
        {sums && (
          <p>
            <progress max={100} value={shareOf(sums)} aria-label="Share of the range that is done" />{" "}
            {jobsText(sums.changed)} {past}
            {isRunning && ". If you close this dialog, the change goes on"}
          </p>
        )}
      </div>
    </Action>
  );
}

/** `work with the tag a and the group b` */
function selectionText({ topic, tag, group }: BulkRequest): string {
  const labels = [...(tag ? [`the tag ${tag}`] : []), ...(group ? [`the group ${group}`] : [])];
  return labels.length === 0 ? topic : `${topic} with ${withVisibleMarks(labels.join(" and "))}`;
}

function jobsText(count: number): string {
  return count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`;
}

/** How much of its range a bulk has examined, in percent. */
function shareOf({ from, to, reached }: BulkResult): number {
  const [begin, end, at] = [Date.parse(from), Date.parse(to), Date.parse(reached)];
  return Math.floor((100 * (at - begin)) / Math.max(end - begin, 1));
}

function skippedOf({ skipped }: BulkResult): number {
  return Object.values(skipped).reduce((sum, count) => sum + count, 0);
}

function reasonsOf({ skipped }: BulkResult): string {
  return Object.entries(skipped)
    .map(([code, count]) => `${count.toLocaleString("en")} ${code}`)
    .join(", ");
}
