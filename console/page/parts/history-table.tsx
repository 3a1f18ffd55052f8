import { useState } from "preact/hooks";
import type { HistoryMinute, Unknown } from "../../history.ts";
import { countText } from "../history-spans.ts";
import { durationText } from "../times.ts";
import { Time } from "./time.tsx";

const MOST_ROWS = 360;

/** The newest minutes first. */
export function HistoryTable({ minutes, unknown }: { minutes: readonly HistoryMinute[]; unknown: Unknown }) {
  const [isOpen, setOpen] = useState(false);
  const rows = isOpen ? minutes.toReversed().slice(0, MOST_ROWS) : [];
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The numbers as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the table with the arrow keys */}
      <section class="scrolled" tabIndex={0} aria-label="The numbers">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Minute</th>
              {["Started", "Failed", "Died", "p50", "p99"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((minute) => (
              <Row key={minute.at} minute={minute} unknown={unknown} />
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

type RowProps = { readonly minute: HistoryMinute; readonly unknown: Unknown };

function Row({ minute: { at, started, failed, dead, late }, unknown }: RowProps) {
  const ends = [countText(failed, "failed", unknown), countText(dead, "dead", unknown)];
  const counts = [started.toLocaleString("en"), ...ends];
  const latenesses = late ? [durationText(late.p50), durationText(late.p99)] : ["", ""];
  return (
    <tr>
      <td>
        <Time at={at} show="time" />
      </td>
      {[...counts, ...latenesses].map((text, place) => (
        <td key={place} class="number">
          {text}
        </td>
      ))}
    </tr>
  );
}
