import { useState } from "preact/hooks";
import { type JobSelection, untrackedTrouble, useTopics } from "../reads.ts";
import { readShift, shiftText } from "../shift-words.ts";
import { isNarrow, now, zone } from "../state.ts";
import { readJobTime } from "../time-words.ts";
import { HOUR, isoAt } from "../times.ts";
import { BulkAction } from "./bulk-action.tsx";
import { addresses } from "./search.ts";
import type { Which } from "./several.tsx";
import { TimeField } from "./time-field.tsx";

/** The range of the list, for calls that have another range by default: without a range the API lists the jobs of the next hour. */
export function listedRange(from = "", to = ""): { from: string; to: string } {
  const begin = from === "" ? now.value : Date.parse(from);
  // An address may have a text that is no time. The API then says so.
  if (Number.isNaN(begin)) return { from, to };
  return { from: isoAt(begin), to: to === "" ? isoAt(begin + HOUR) : to };
}

/** The actions on all jobs of the list. They stay in sight while the list is scrolled. */
export function Bulks({
  selection: { topic = "", state, tag, group, from, to },
}: {
  selection: JobSelection;
}) {
  const topics = useTopicsOf(topic);
  const impossible = topic === "" ? undefined : untrackedTrouble(topic);
  const labels = { ...(tag ? { tag } : {}), ...(group ? { group } : {}) };
  const which = { topics, ...labels, ...listedRange(from, to) };
  const given = { which, takesSeveral: true, impossible };
  const jobs = `All waiting jobs ${from || to ? "in this range" : "of the next hour"}`;
  return (
    <section class="bulks" aria-label="Actions on all jobs of this selection">
      <p class="quiet">
        {impossible === undefined
          ? `${jobs}${state ? ", whatever the state filter says" : ""}:`
          : `Not possible: ${impossible}.`}
      </p>
      <BulkButtons {...given} />
    </section>
  );
}

function BulkButtons(given: Omit<Given, "short">) {
  const short = (text: string) => (isNarrow.value ? text : undefined);
  return (
    <div class="buttons">
      {isNarrow.value && <span class="quiet">All:</span>}
      <BulkAction
        {...given}
        label="Run all now"
        short={short("Run")}
        change={{ action: "run" }}
        effect="become due at once, or at the rate above"
        takesRate
      />
      <MoveAll {...given} short={short("Move")} />
      <ShiftAll {...given} short={short("Shift")} />
      <BulkAction
        {...given}
        label="Cancel all"
        short={short("Cancel")}
        change={{ action: "cancel" }}
        effect="will not run"
        isDangerous
      />
      <a class="last-actions" href={addresses.lastActions} aria-label="Last actions">
        {isNarrow.value ? "Last" : "Last actions"}
      </a>
    </div>
  );
}

/** The topic of the list, or all topics whose jobs can be changed. */
function useTopicsOf(topic: string): string[] {
  const { data = [] } = useTopics();
  if (topic !== "") return [topic];
  return data.flatMap((one) => (one.policy.tracking === "full" ? [one.topic] : []));
}

type Given = {
  readonly short: string | undefined;
  readonly which: Which;
  readonly takesSeveral: boolean;
  readonly impossible: string | undefined;
};

function MoveAll(given: Given) {
  const [words, setWords] = useState("");
  const time = readJobTime(words, now.value, zone.value);
  return (
    <BulkAction
      {...given}
      label="Move all"
      change={{ action: "move", ...(time ?? { delay: 0 }) }}
      effect="move to the time above, all to the same moment or at the rate above"
      takesRate
      isReady={time !== undefined}
    >
      <TimeField label="New time" isOfJob value={words} onChange={setWords} />
      <p>All jobs move to the same moment. Words such as "in 30 minutes" count from now.</p>
    </BulkAction>
  );
}

/** Shifts that a button fills in. */
const SHIFTS = ["-1h", "+1h", "+2h", "+1d"];

function ShiftAll(given: Given) {
  const [words, setWords] = useState("+1h");
  const shift = readShift(words);
  return (
    <BulkAction
      {...given}
      label="Shift all"
      change={{ action: "move", shift: shift?.text ?? "1h" }}
      effect={`become due ${shift === undefined ? "…" : shiftText(shift.ms)}, each as far from the others as before`}
      isReady={shift !== undefined && shift.ms !== 0}
    >
      <div class="field">
        <label>
          Hours, or a duration such as -30m
          <input value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <p class={shift === undefined ? "wrong" : "quiet"} aria-live="polite">
          {shift === undefined
            ? 'must be hours such as "2" or "-0.5", or a duration such as "-30m"'
            : shiftText(shift.ms)}
          {shift !== undefined && shift.ms < 0 && ". A job whose new time has passed becomes due at once"}
        </p>
      </div>
      <div class="buttons">
        {SHIFTS.map((text) => (
          <button key={text} type="button" onClick={() => setWords(text)}>
            {text}
          </button>
        ))}
      </div>
    </BulkAction>
  );
}
