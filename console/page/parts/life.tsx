import type { JobJson } from "../../../http/answers.ts";
import { shownState } from "../shown-state.ts";
import { now } from "../state.ts";
import { durationText } from "../times.ts";
import { TextBlock } from "./text-block.tsx";
import { Time } from "./time.tsx";

type Event = JobJson["timeline"][number];

/** How each event looks: its mark and its colour. */
const LOOKS: Readonly<Record<Event["event"], readonly [mark: string, colour: string]>> = {
  filed: ["+", ""],
  moved: ["↷", ""],
  sent: ["→", ""],
  claimed: ["▶", "busy"],
  failed: ["✕", "bad"],
  "asked-to-retry": ["↻", ""],
  dead: ["✕", "bad"],
  done: ["✓", "good"],
  cancelled: ["–", ""],
  expired: ["⌛", "bad"],
};

/** What happened to a job, from top to bottom, with the time between two events, and what comes next. */
export function Life({ job }: { job: JobJson }) {
  return (
    <ol class="life">
      {job.timeline.map((event, index) => {
        const [mark, colour] = LOOKS[event.event] ?? ["·", ""];
        const before = job.timeline[index - 1];
        const moved = movedText(event, job.timeline.slice(0, index));
        return (
          <li key={`${event.at} ${event.event}`}>
            <span class={`mark ${colour}`} aria-hidden="true">
              {mark}
            </span>
            <div>
              <strong>{textOf(event, before)}</strong> <Time at={event.at} />
              {before && (
                <span class="gap quiet">
                  {" "}
                  {durationText(Date.parse(event.at) - Date.parse(before.at))} after the event before
                </span>
              )}
              {event.dueAt !== undefined && (
                <div class="quiet">
                  due <Time at={event.dueAt} />
                  {moved}
                </div>
              )}
              {event.error !== undefined && (
                <TextBlock text={event.error} label={`Error of attempt ${event.attempt}`} />
              )}
            </div>
          </li>
        );
      })}
      <Next job={job} />
    </ol>
  );
}

/** By how much a move has changed the due time, such as `, 1 h later than before`. Empty if the time before is not known. */
function movedText({ event, dueAt }: Event, earlier: readonly Event[]): string {
  const before = earlier.findLast((one) => one.dueAt !== undefined)?.dueAt;
  if (event !== "moved" || dueAt === undefined || before === undefined) return "";
  const by = Date.parse(dueAt) - Date.parse(before);
  if (by === 0) return ", as before";
  return `, ${durationText(Math.abs(by))} ${by < 0 ? "earlier" : "later"} than before`;
}

function textOf({ event, attempt, lateness }: Event, before: Event | undefined): string {
  const run = attempt === undefined ? "" : ` attempt ${attempt}`;
  const late = lateness === undefined ? "" : `, ${durationText(lateness * 1000)} late`;
  switch (event) {
    case "claimed":
      return `started${run}${late}`;
    case "sent":
      return `sent to the queue for${run}`;
    case "moved":
      return before?.event === "dead" ? "redriven" : event;
    case "asked-to-retry":
      return `asked to run again after${run}`;
    default:
      return `${event}${run}`;
  }
}

/** What a job that has not ended waits for. */
function Next({ job }: { job: JobJson }) {
  const { dueAt, heldUntil = dueAt, leaseUntil, maxAttempts, attempt } = job;
  const text = {
    scheduled: `starts attempt ${attempt + 1} of ${maxAttempts}`,
    held: "is held by a pause, a limit or a window, and may start",
    late: "should have started: its consumer is slow or does not run",
    running: "is running; if nothing is heard of the run, the job runs again after",
  }[shownState(job, now.value) as string];
  if (text === undefined) return null;
  const at = job.state === "running" ? leaseUntil : heldUntil;
  return (
    <li>
      <span class="mark busy" aria-hidden="true">
        …
      </span>
      <div>
        {text} {at !== undefined && <Time at={at} />}
      </div>
    </li>
  );
}
