import type { Change } from "../../carried.ts";
import {
  type CountLine,
  changeableIn,
  changeableOf,
  chosenLines,
  isCounted,
  jobsText,
} from "../bulk-calls.ts";
import { selectionText } from "../bulk-words.ts";
import { withVisibleMarks } from "../direction.ts";
import { Time } from "./time.tsx";

type Props = {
  readonly lines: readonly CountLine[];
  readonly choose: (isChosen: boolean, index?: number) => void;
  readonly action: Change["action"];
  readonly effect: string;
  readonly again: () => void;
};

/** What an action will change: in one sentence, and line by line if there are several. */
export function CountedLines({ lines, choose, action, effect, again }: Props) {
  const failed = lines.find(({ trouble }) => trouble !== undefined);
  if (failed?.trouble !== undefined) {
    return (
      <div class="failure" role="alert">
        <p>
          The jobs of {selectionText([failed.asked])} could not be counted: {failed.trouble}
        </p>
        <button type="button" onClick={again}>
          Count again
        </button>
      </div>
    );
  }
  return (
    <>
      <div role="status">
        {lines.every(isCounted) ? <Sentence {...{ lines, action, effect }} /> : <Counting lines={lines} />}
      </div>
      {lines.length > 1 && <LineTable lines={lines} choose={choose} />}
    </>
  );
}

function Counting({ lines }: Pick<Props, "lines">) {
  const [only] = lines;
  const matched = lines.reduce((sum, { counted }) => sum + (counted?.matched ?? 0), 0);
  const done = lines.filter(isCounted).length;
  const how =
    done > 0
      ? `, ${done} of ${lines.length} lines counted`
      : only?.counted && `, ${shareOf(only.counted)} % of the range read`;
  return (
    <p>
      Counting the jobs: {jobsText(matched)} so far{how} …
    </p>
  );
}

function Sentence({ lines, action, effect }: Pick<Props, "lines" | "action" | "effect">) {
  const [{ counted, asked } = {}] = lines;
  if (counted === undefined || asked === undefined) return null;
  const chosen = lines.length === 1 ? lines : chosenLines(lines);
  return (
    <p>
      <strong>{jobsText(changeableIn(lines))}</strong>
      {chosen.length > 0 && (
        <>
          {" "}
          of <strong>{selectionText(chosen.map(({ asked }) => asked))}</strong>
        </>
      )}
      {!["redrive", "dismiss"].includes(action) && (
        <>
          {" "}
          due from <Time at={asked.from ?? counted.from} show="time" /> until{" "}
          <Time at={asked.to ?? counted.to} show="time" />
        </>
      )}{" "}
      {effect}.
    </p>
  );
}

function LineTable({ lines, choose }: Pick<Props, "lines" | "choose">) {
  const known = lines.map((line, index) => ({ line, index }));
  const shown = known.filter(({ line }) => !isCounted(line) || changeableOf(line) > 0);
  const empty = lines.length - shown.length;
  const isAllChosen = shown.every(({ line }) => line.isChosen);
  return (
    <>
      <div class="scrolled">
        <table class="data">
          <thead>
            <tr>
              <th>
                <Box name="Jobs of" isChecked={isAllChosen} onChange={choose} />
              </th>
              <th class="number">Jobs</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ line, index }) => (
              <tr key={index}>
                <td>
                  <Box
                    name={nameOf(line)}
                    isChecked={line.isChosen}
                    onChange={(isChosen) => choose(isChosen, index)}
                  />
                </td>
                <td class="number">{isCounted(line) ? changeableOf(line).toLocaleString("en") : "…"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {empty > 0 && <p class="quiet">{empty === 1 ? "1 line has" : `${empty} lines have`} no such job.</p>}
    </>
  );
}

type BoxProps = {
  readonly name: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
};

function Box({ name, isChecked, onChange }: BoxProps) {
  return (
    <label class="beside">
      <input
        type="checkbox"
        checked={isChecked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {name}
    </label>
  );
}

function nameOf({ asked: { topic, tag, group } }: CountLine): string {
  const labels = [...(tag ? [`tag ${tag}`] : []), ...(group ? [`group ${group}`] : [])];
  return [topic, ...labels.map((label) => withVisibleMarks(label))].join(", ");
}

function shareOf({ from, to, reached }: NonNullable<CountLine["counted"]>): number {
  const [begin, end, at] = [Date.parse(from), Date.parse(to), Date.parse(reached)];
  return Math.floor((100 * (at - begin)) / Math.max(end - begin, 1));
}
