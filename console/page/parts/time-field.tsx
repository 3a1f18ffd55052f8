import { useId } from "preact/hooks";
import { now, zone } from "../state.ts";
import { type Edge, readEdge, readTime } from "../time-words.ts";
import { comesTwice } from "../times.ts";
import { Time } from "./time.tsx";

type Props = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (words: string) => void;
  readonly isOptional?: boolean;
  /** Whether this is the time of a job. A job with a time in the past becomes due at once. */
  readonly isOfJob?: boolean;
  /** Which end of a range this is, if it is one. */
  readonly edge?: Edge;
  /** What the Enter key does. Default: it submits the form. */
  readonly onEnter?: () => void;
};

export function TimeField({ label, value, onChange, isOptional, isOfJob, edge, onEnter }: Props) {
  const id = useId();
  const isEmpty = value.trim() === "";
  const read =
    edge === undefined
      ? readTime(value, now.value, zone.value)
      : readEdge(value, now.value, zone.value, edge);
  const isWrong = "error" in read && !isEmpty;
  return (
    <div class="field">
      <label>
        {label}
        <input
          value={value}
          placeholder="in 30 minutes"
          aria-describedby={id}
          aria-invalid={isWrong}
          onInput={(event) => onChange(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter") onEnter?.();
          }}
        />
      </label>
      <p id={id} class={isWrong ? "wrong" : "quiet"} aria-live="polite">
        {"at" in read && <Time at={read.at} />}
        {"at" in read &&
          comesTwice(read.at, zone.value) &&
          ": the clocks show this time twice on that day, and this is the first"}
        {"at" in read && isOfJob && read.at < now.value && ": in the past, so it means at once"}
        {isWrong && read.error}
        {isEmpty && (isOptional ? "may stay empty" : "such as: tomorrow 9:00")}
      </p>
    </div>
  );
}
