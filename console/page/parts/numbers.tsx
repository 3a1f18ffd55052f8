import { useState } from "preact/hooks";
import { type Buckets, barsIn, type Counts, countsText, NO_COUNTS, type Range } from "../time-buckets.ts";
import { isoAt } from "../times.ts";
import { NO_BUCKETS } from "./lane.tsx";
import { addresses } from "./search.ts";
import { Time } from "./time.tsx";

const MOST_ROWS = 300;

type NumbersProps = {
  readonly topics: readonly string[];
  readonly counts: ReadonlyMap<string, Buckets>;
  readonly step: number;
  readonly range: Range;
};

export function Numbers({ topics, counts, step, range }: NumbersProps) {
  const [isOpen, setOpen] = useState(false);
  const rows = isOpen ? rowsOf(topics, counts, step, range) : [];
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The numbers as a table</summary>
      {rows.length > MOST_ROWS && (
        <p>
          The first {MOST_ROWS} of {rows.length} lines:
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: whoever has no pointer scrolls the table with the arrow keys */}
      <section class="numbers-place" tabIndex={0} aria-label="The numbers">
        <Table rows={rows.slice(0, MOST_ROWS)} step={step} />
      </section>
    </details>
  );
}

type Row = { readonly topic: string; readonly begin: number; readonly of: Counts };

function rowsOf(
  topics: readonly string[],
  counts: NumbersProps["counts"],
  step: number,
  range: Range,
): Row[] {
  const rows = topics.flatMap((topic) => {
    const buckets = counts.get(topic) ?? NO_BUCKETS;
    return barsIn(buckets, range, step).map((begin) => {
      return { topic, begin, of: buckets.get(begin) ?? NO_COUNTS };
    });
  });
  return rows.sort((a, b) => a.begin - b.begin);
}

function Table({ rows, step }: { rows: readonly Row[]; step: number }) {
  return (
    <table class="numbers">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">Topic</th>
          <th scope="col">Jobs</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ topic, begin, of }) => (
          <tr key={`${topic} ${begin}`}>
            <td>
              <Time at={begin} show="time" />
            </td>
            <td>{topic}</td>
            <td>
              <a href={addresses.jobs({ topic, from: isoAt(begin), to: isoAt(begin + step) })} data-line>
                {countsText(of)}
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
