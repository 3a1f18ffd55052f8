import { useState } from "preact/hooks";
import type { BulkRequest } from "../../../src/client/options.ts";
import { type JobSelection, untrackedTrouble } from "../reads.ts";
import { now, zone } from "../state.ts";
import { readJobTime } from "../time-words.ts";
import { HOUR, isoAt } from "../times.ts";
import { BulkAction } from "./bulk-action.tsx";
import { TimeField } from "./time-field.tsx";

type Chosen = Pick<BulkRequest, "topic" | "tag" | "group" | "from" | "to">;

/** The range of the list, for calls that have another range by default: without a range the API lists the jobs of the next hour. */
export function listedRange(from = "", to = ""): { from: string; to: string } {
  const begin = from === "" ? now.value : Date.parse(from);
  // An address may have a text that is no time. The API then says so.
  if (Number.isNaN(begin)) return { from, to };
  return { from: isoAt(begin), to: to === "" ? isoAt(begin + HOUR) : to };
}

export function Bulks({ selection: { topic = "", tag, group, from, to } }: { selection: JobSelection }) {
  const impossible = topic === "" ? "choose a topic first" : untrackedTrouble(topic);
  const place = from || to ? "in this range" : "due in the next hour";
  const chosen = {
    topic,
    ...(tag ? { tag } : {}),
    ...(group ? { group } : {}),
    ...listedRange(from, to),
  };
  return (
    <section aria-labelledby="bulks-title">
      <h2 id="bulks-title">Change all jobs of this topic, tag, group and range</h2>
      <p class="quiet">
        These actions change the waiting jobs {place}, whatever the state filter says. They count the jobs
        first.
      </p>
      <div class="buttons">
        <BulkAction
          label="Run all now"
          request={{ action: "run", ...chosen }}
          effect="become due at once, or at the rate above"
          takesRate
          impossible={impossible}
        />
        <MoveAll chosen={chosen} impossible={impossible} />
        <BulkAction
          label="Cancel all"
          request={{ action: "cancel", ...chosen }}
          effect="will not run. A cancelled job cannot be brought back"
          isDangerous
          impossible={impossible}
        />
        {impossible && (
          <span class="quiet">{topic === "" ? "Choose a topic first." : `Not possible: ${impossible}.`}</span>
        )}
      </div>
    </section>
  );
}

type MoveProps = { readonly chosen: Chosen; readonly impossible: string | undefined };

function MoveAll({ chosen, impossible }: MoveProps) {
  const [words, setWords] = useState("");
  const time = readJobTime(words, now.value, zone.value);
  return (
    <BulkAction
      label="Move all"
      request={{ action: "move", ...chosen, ...(time ?? { delay: 0 }) }}
      effect="move to the time above, all to the same moment or at the rate above"
      takesRate
      isReady={time !== undefined}
      impossible={impossible}
    >
      <TimeField label="New time" isOfJob value={words} onChange={setWords} />
      <p>All jobs move to the same moment. Words such as "in 30 minutes" count from now.</p>
    </BulkAction>
  );
}
