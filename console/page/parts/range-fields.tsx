import { useState } from "preact/hooks";
import { clock } from "../clock.ts";
import { now, zone } from "../state.ts";
import { readTime } from "../time-words.ts";
import { DAY, durationText, HOUR, isoAt, MINUTE } from "../times.ts";
import { TimeField } from "./time-field.tsx";

/** The ranges that a button sets: from and to, ms from now. Without a range the list shows the next hour, which moves on with the time. */
const RANGES = [
  ["last day", -DAY, 0],
  ["last hour", -HOUR, 0],
  ["next hour", undefined, undefined],
  ["next day", 0, DAY],
  ["next 7 days", 0, 7 * DAY],
] as const;

/** The longest range of a list. */
const LONGEST = 31 * DAY;

type Props = {
  /** ISO 8601; empty if the address names no range. */
  readonly from: string;
  readonly to: string;
  readonly onChange: (range: { from: string; to: string }) => void;
};

export function RangeFields({ from, to, onChange }: Props) {
  return (
    <fieldset class="range">
      <legend>Due</legend>
      <div class="buttons">
        {RANGES.map(([name, begin, end]) => (
          <button
            key={name}
            type="button"
            aria-pressed={
              begin === undefined
                ? from === "" && to === ""
                : isAbout(from, now.value + begin) && isAbout(to, now.value + end)
            }
            onClick={() =>
              onChange(
                begin === undefined
                  ? { from: "", to: "" }
                  : { from: isoAt(clock() + begin), to: isoAt(clock() + end) },
              )
            }
          >
            {name}
          </button>
        ))}
      </div>
      <OwnRange key={`${from} ${to}`} from={from} to={to} onChange={onChange} />
    </fieldset>
  );
}

function isAbout(time: string, other: number): boolean {
  return Math.abs(Date.parse(time) - other) < MINUTE;
}

function OwnRange({ from, to, onChange }: Props) {
  const [words, setWords] = useState({ from, to });
  const [begin, end] = [words.from, words.to].map((text) => readTime(text, now.value, zone.value));
  const span = begin && end && "at" in begin && "at" in end ? end.at - begin.at : undefined;
  const trouble =
    span === undefined
      ? undefined
      : span <= 0
        ? "the end must be after the beginning"
        : span > LONGEST
          ? `the range must be at most ${durationText(LONGEST)}, got ${durationText(span)}`
          : undefined;
  const isChanged = words.from !== from || words.to !== to;
  const isReady = isChanged && span !== undefined && trouble === undefined;
  function show(): void {
    if (isReady && begin && end && "at" in begin && "at" in end)
      onChange({ from: isoAt(begin.at), to: isoAt(end.at) });
  }
  return (
    <details>
      <summary>{from === "" ? "Another range" : "This range"}</summary>
      <TimeField
        label="From"
        value={words.from}
        onChange={(text) => setWords({ ...words, from: text })}
        onEnter={show}
      />
      <TimeField
        label="Until"
        value={words.to}
        onChange={(text) => setWords({ ...words, to: text })}
        onEnter={show}
      />
      {trouble && <p class="wrong">{trouble}</p>}
      <button type="button" disabled={!isReady} onClick={show}>
        Show this range
      </button>
    </details>
  );
}
