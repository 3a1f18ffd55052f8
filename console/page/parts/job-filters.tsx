import { useEffect, useRef, useState } from "preact/hooks";
import type { JobSummary } from "../../../src/http/answers/jobs.ts";
import { clock } from "../clock.ts";
import type { ShownState } from "../shown-state.ts";
import { isNarrow, now, zone } from "../state.ts";
import { DAY, HOUR, isoAt, spanText } from "../times.ts";
import { Choice } from "./choice.tsx";
import { RangeFields } from "./range-fields.tsx";
import { useSearch } from "./search.ts";
import { TopicField } from "./topic-field.tsx";

export const JOB_STATES: readonly JobSummary["state"][] = [
  ...(["scheduled", "running", "done", "cancelled", "dead", "expired", "handed-off"] as const),
];

/** States that the API judges but does not store. The page looks for them among the scheduled jobs. */
export const SEEN_STATES = ["late", "held", "retrying"] as const satisfies readonly ShownState[];

/** Jobs in these states were due before now. A cancelled job may be due at any time. */
const PAST_STATES: readonly string[] = ["running", "done", "dead", "expired", "handed-off"];

/** The range that a state needs, if the address names none: without a range the list has the next hour. */
function rangeOfState(state: string): { from: string | undefined; to: string | undefined } {
  if (PAST_STATES.includes(state)) return { from: isoAt(clock() - DAY), to: isoAt(clock()) };
  return ["late", "held", "cancelled"].includes(state) ? aroundNow() : { from: undefined, to: undefined };
}

/** From an hour ago to an hour ahead: late jobs are due before now. */
export function aroundNow(): { from: string; to: string } {
  return { from: isoAt(clock() - HOUR), to: isoAt(clock() + HOUR) };
}

/** The filters. Where they would take half of the window, they are folded, and their names and values are in one line. */
export function Filters() {
  const [{ topic, state, tag, group, from = "", to = "" }] = useSearch();
  const fold = useRef<HTMLDetailsElement>(null);
  // Whoever has chosen a range wants to see its jobs.
  useEffect(() => {
    if (fold.current && from !== "") fold.current.open = false;
  }, [from, to]);
  if (!isNarrow.value) return <FilterFields />;
  const chosen = [topic, state, tag && `tag ${tag}`, group && `group ${group}`, rangeText(from, to)];
  return (
    <details class="folded" ref={fold}>
      <summary>Filters: {chosen.filter(Boolean).join(", ") || "none"}</summary>
      <FilterFields />
    </details>
  );
}

function rangeText(from: string, to: string): string {
  const [begin, end] = [Date.parse(from), Date.parse(to)];
  if (from === "" || Number.isNaN(begin)) return "";
  return Number.isNaN(end) ? "a range" : spanText(begin, end, now.value, zone.value);
}

function FilterFields() {
  const [query, change] = useSearch();
  // A range that came with a state goes with it.
  const ofState = useRef<string | undefined>(undefined);
  const isRanged = Boolean(query.from || query.to) && query.from !== ofState.current;
  function chooseState(state: string): void {
    const range = rangeOfState(state);
    if (!isRanged) ofState.current = range.from;
    change({ ...(isRanged ? {} : range), state });
  }
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <TopicField value={query.topic ?? ""} none="all topics" onChange={(topic) => change({ topic })} />
      <div class="field">
        <Choice
          label="State"
          value={query.state ?? ""}
          options={[...JOB_STATES, ...SEEN_STATES]}
          onChange={chooseState}
          none="all states"
        />
      </div>
      <Filter name="tag" value={query.tag ?? ""} onChange={(tag) => change({ tag })} />
      <Filter name="group" value={query.group ?? ""} onChange={(group) => change({ group })} />
      <RangeFields from={query.from ?? ""} to={query.to ?? ""} onChange={change} />
    </form>
  );
}

type FilterProps = {
  readonly name: "tag" | "group";
  readonly value: string;
  readonly onChange: (text: string) => void;
};

function Filter({ name, value, onChange }: FilterProps) {
  const { text, type, apply } = useTyped(value, onChange);
  return (
    <div class="field">
      <label>
        <span>
          {name === "tag" ? "Tag" : "Group"} <span class="quiet">(exact)</span>
        </span>
        <input
          value={text}
          placeholder="any"
          onInput={(event) => type(event.currentTarget.value)}
          onChange={(event) => apply(event.currentTarget.value)}
        />
      </label>
    </div>
  );
}

/** How long the user must not type until a filter is applied, ms. */
const TYPED_MS = 400;

/** Keeps a text that is applied while the user types, because the click that leaves the field may be for something else. */
function useTyped(value: string, onChange: (text: string) => void) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const applied = useRef(value);
  // The other filters may change before this one is applied.
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    // The address may change without this field. What the user types meanwhile stays.
    if (value !== applied.current) setText(value);
    applied.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  function apply(words: string): void {
    clearTimeout(timer.current);
    if (words.trim() === applied.current) return;
    applied.current = words.trim();
    latest.current(words.trim());
  }
  function type(words: string): void {
    setText(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(apply, TYPED_MS, words);
  }
  return { text, type, apply };
}
