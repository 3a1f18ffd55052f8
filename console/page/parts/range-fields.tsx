import { useState } from "preact/hooks";
import { LONGEST_LIST } from "../../../src/core/constants.ts";
import { clock } from "../clock.ts";
import { now, zone } from "../state.ts";
import { readEdge } from "../time-words.ts";
import { DAY, dayInputText, durationText, HOUR, instantOf, isoAt, MINUTE, startOfDay } from "../times.ts";
import { TimeField } from "./time-field.tsx";

/** The ranges that a button sets: from and to, ms from now. Without a range the list shows the next hour, which moves on with the time. */
const RANGES = [
  ["last day", -DAY, 0],
  ["last hour", -HOUR, 0],
  ["next hour", undefined, undefined],
  ["next day", 0, DAY],
  ["next 7 days", 0, 7 * DAY],
] as const;

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
                : isAbout(Date.parse(from), now.value + begin) && isAbout(Date.parse(to), now.value + end)
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
      <DayField from={from} to={to} onChange={onChange} />
      <OwnRange key={`${from} ${to}`} from={from} to={to} onChange={onChange} />
    </fieldset>
  );
}

/** One whole day in the chosen zone. A day on which the clocks change has 23 or 25 hours. */
function DayField({ from, to, onChange }: Props) {
  const begin = Date.parse(from);
  const isDay = Number.isFinite(begin) && begin === dayAt(begin, 0) && Date.parse(to) === dayAt(begin, 1);
  const day = isDay ? dayInputText(begin, zone.value) : "";
  const choose = (at: number) => onChange({ from: isoAt(dayAt(at, 0)), to: isoAt(dayAt(at, 1)) });
  return (
    <div class="buttons">
      <label class="beside">
        Whole day
        <input
          type="date"
          // The field keeps what is typed until the day is whole.
          key={day}
          defaultValue={day}
          onChange={({ currentTarget: { value } }) => {
            const noon = Date.parse(`${value}T12:00Z`);
            // While a year is typed, the field has the years 2, 20 and 203 first.
            if (noon > 0) choose(instantOf(noon, zone.value));
          }}
        />
      </label>
      {["today", "tomorrow"].map((name, days) => {
        const at = dayAt(now.value, days);
        return (
          <button key={name} type="button" aria-pressed={isDay && begin === at} onClick={() => choose(at)}>
            {name}
          </button>
        );
      })}
    </div>
  );
}

function dayAt(at: number, days: number): number {
  return startOfDay(at, zone.value, days);
}

export function isAbout(time: number, other: number): boolean {
  return Math.abs(time - other) < MINUTE;
}

function OwnRange({ from, to, onChange }: Props) {
  const [words, setWords] = useState({ from, to });
  const begin = readEdge(words.from, now.value, zone.value, "from");
  const end = readEdge(words.to, now.value, zone.value, "until");
  const span = "at" in begin && "at" in end ? end.at - begin.at : undefined;
  const trouble = span === undefined ? undefined : troubleOf(span);
  const isChanged = words.from !== from || words.to !== to;
  const isReady = isChanged && span !== undefined && trouble === undefined;
  function show(): void {
    if (isReady && "at" in begin && "at" in end) onChange({ from: isoAt(begin.at), to: isoAt(end.at) });
  }
  return (
    <details>
      <summary>{from === "" ? "Another range" : "This range"}</summary>
      <TimeField
        label="From"
        edge="from"
        value={words.from}
        onChange={(text) => setWords({ ...words, from: text })}
        onEnter={show}
      />
      <TimeField
        label="Until"
        edge="until"
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

function troubleOf(span: number): string | undefined {
  if (span <= 0) return "the end must be after the beginning";
  if (span <= LONGEST_LIST) return undefined;
  return `the range must be at most ${durationText(LONGEST_LIST)}, got ${durationText(span)}`;
}
