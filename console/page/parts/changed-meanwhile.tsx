import { actorText } from "../../../src/client/actor-text.ts";
import type { JobJson } from "../../../src/http/answers/jobs.ts";
import { jsonText, withVisibleMarks } from "../direction.ts";
import { TextBlock } from "./text-block.tsx";
import { Time } from "./time.tsx";

type Props = {
  readonly job: JobJson;
  /** The job as the dialog showed it first. */
  readonly seen: JobJson;
  readonly take: () => void;
};

/** If the present job is not the one that the dialog showed: what has changed, who has changed it, and when. */
export function ChangedMeanwhile({ job, seen, take }: Props) {
  const isChanged = job.revision !== seen.revision;
  if (!isChanged && job.state === seen.state) return null;
  return (
    <div class="failure changed" role="alert">
      <p>
        <strong>This job has changed since you opened the dialog.</strong>
      </p>
      <Changes job={job} seen={seen} />
      <Differences job={job} seen={seen} />
      {job.state !== seen.state && (
        <p>Now the job is {job.state}, so the action may not be possible any more.</p>
      )}
      <button type="button" onClick={take}>
        Use the present job
      </button>
    </div>
  );
}

/** What the timeline has got since. It keeps the last events only. */
function Changes({ job, seen }: Omit<Props, "take">) {
  const known = new Set(seen.timeline.map((event) => JSON.stringify(event)));
  const since = job.timeline.filter((event) => !known.has(JSON.stringify(event)));
  return (
    <ul>
      {since.map(({ at, event, by }) => (
        <li key={`${at} ${event}`}>
          {event} <Time at={at} />
          {by && ` by ${withVisibleMarks(actorText(by))}`}
        </li>
      ))}
    </ul>
  );
}

/** Fields that say nothing that the user has not read elsewhere in the dialog. */
const LEFT_OUT = [
  "revision",
  "timeline",
  "earlierEventsDropped",
  "held",
  "lateSince",
  "retrying",
  "logUrl",
  "outcome",
];

function Differences({ job, seen }: Omit<Props, "take">) {
  const [before, now]: Readonly<Record<string, unknown>>[] = [seen, job];
  const names = [...new Set([...Object.keys(seen), ...Object.keys(job)])].filter(
    (name) => !LEFT_OUT.includes(name) && JSON.stringify(before?.[name]) !== JSON.stringify(now?.[name]),
  );
  if (names.length === 0) return null;
  return (
    <table class="data differences">
      <thead>
        <tr>
          <td />
          <th>When you opened the dialog</th>
          <th>Now</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th>{wordsOf(name)}</th>
            <td>
              <Value name={name} value={before?.[name]} when="earlier" />
            </td>
            <td>
              <Value name={name} value={now?.[name]} when="present" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function wordsOf(name: string): string {
  return name === "dueAt" ? "due" : name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

type ValueProps = { readonly name: string; readonly value: unknown; readonly when: "earlier" | "present" };

function Value({ name, value, when }: ValueProps) {
  if (value === undefined) return <span class="quiet">none</span>;
  if (name === "body") return <TextBlock text={jsonText(value, 2)} label={`Text of the ${when} body`} />;
  if (typeof value === "string" && /(At|Until)$/.test(name)) return <Time at={value} />;
  return <>{withVisibleMarks(typeof value === "string" ? value : jsonText(value))}</>;
}
