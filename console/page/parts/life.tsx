import { actorText } from "../../../src/client/actor-text.ts";
import { isHolding } from "../../../src/client/holding.ts";
import type { JobJson } from "../../../src/http/answers/jobs.ts";
import type { TopicJson } from "../../../src/http/answers/topics.ts";
import { useTopic } from "../reads.ts";
import { shownState } from "../shown-state.ts";
import { durationText } from "../times.ts";
import { TextBlock } from "./text-block.tsx";
import { Time } from "./time.tsx";

type Event = JobJson["timeline"][number];

const LOOKS: Readonly<Record<Event["event"], readonly [mark: string, colour: string]>> = {
  filed: ["+", ""],
  moved: ["↷", ""],
  held: ["‖", ""],
  sent: ["→", ""],
  claimed: ["▶", "busy"],
  failed: ["✕", "bad"],
  "asked-to-retry": ["↻", ""],
  retried: ["↻", ""],
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
        const by = movedBy(event, job.timeline.slice(0, index));
        return (
          <li key={`${event.at} ${event.event}`}>
            <span class={`mark ${colour}`} aria-hidden="true">
              {mark}
            </span>
            <div>
              <strong>{textOf(event, before, by)}</strong> <Time at={event.at} />
              {before && (
                <span class="gap quiet">
                  {" "}
                  {durationText(Date.parse(event.at) - Date.parse(before.at))} after the event before
                </span>
              )}
              <Details event={event} by={by} />
            </div>
          </li>
        );
      })}
      <Next job={job} />
    </ol>
  );
}

/** `by`: how much a move has changed the due time, ms. */
function Details({ event, by }: { event: Event; by: number | undefined }) {
  return (
    <>
      {event.dueAt !== undefined && (
        <div class="quiet">
          {event.event === "retried" ? "retry at" : "due"} <Time at={event.dueAt} />
          {by !== undefined && movedText(by)}
        </div>
      )}
      {event.heldUntil !== undefined && (
        <div class="quiet">
          until <Time at={event.heldUntil} />
        </div>
      )}
      {event.by !== undefined && <div class="quiet">by {actorText(event.by)}</div>}
      {event.error !== undefined && (
        <TextBlock text={event.error} label={`Error of attempt ${event.attempt}`} />
      )}
    </>
  );
}

/** By how much a move has changed the due time, ms. `undefined` if the time before is not known. */
function movedBy({ event, dueAt }: Event, earlier: readonly Event[]): number | undefined {
  const before = earlier.findLast((one) => one.dueAt !== undefined)?.dueAt;
  if (!["moved", "retried"].includes(event) || dueAt === undefined || before === undefined) return undefined;
  return Date.parse(dueAt) - Date.parse(before);
}

function movedText(by: number): string {
  if (by === 0) return ", as before";
  return `, ${durationText(Math.abs(by))} ${by < 0 ? "earlier" : "later"} than before`;
}

function textOf(
  { event, attempt, lateness }: Event,
  before: Event | undefined,
  by: number | undefined,
): string {
  const run = attempt === undefined ? "" : ` attempt ${attempt}`;
  const late = lateness === undefined ? "" : `, ${durationText(lateness * 1000)} late`;
  switch (event) {
    case "claimed":
      return `started${run}${late}`;
    case "sent":
      return `sent to the queue for${run}`;
    case "moved":
      if (before?.event === "dead") return "redriven";
      // A change of the body, or a move to the same time.
      return by === 0 ? "changed" : event;
    case "retried":
      return "retry planned";
    case "asked-to-retry":
      return `asked to run again after${run}`;
    case "dead":
      return attempt === undefined ? event : `dead after${run}`;
    case "done":
      return attempt === undefined ? event : `done in${run}`;
    default:
      return `${event}${run}`;
  }
}

function Next({ job }: { job: JobJson }) {
  const { topic, dueAt, heldUntil = dueAt, leaseUntil } = job;
  // The topics may be read after the job.
  const { pause, policy } = useTopic(topic) ?? {};
  const holding = job.state === "scheduled" && isHolding(pause) ? pause : undefined;
  const text = waitText(job, policy, holding !== undefined);
  if (text === undefined) return null;
  const at = job.state === "running" ? leaseUntil : heldUntil;
  return (
    <li>
      <span class="mark busy" aria-hidden="true">
        …
      </span>
      <div>
        {holding && job.held ? (
          "is held: "
        ) : (
          <>
            {text} {at !== undefined && <Time at={at} />}
            {holding && "; "}
          </>
        )}
        {holding && (
          <>
            {holding.state === "paused"
              ? "the topic has been paused since"
              : "the topic is being resumed. It was paused at"}{" "}
            <Time at={holding.since} />
            {holding.by && `, by ${actorText(holding.by)}`}
          </>
        )}
      </div>
    </li>
  );
}

/** `isPaused`: the job starts only after a resume of its topic. */
function waitText(
  job: JobJson,
  policy: TopicJson["policy"] | undefined,
  isPaused: boolean,
): string | undefined {
  const attempt = `attempt ${job.attempt + 1} of ${job.maxAttempts}`;
  const texts: Readonly<Record<string, string>> = {
    scheduled: isPaused ? `${attempt} is due` : `starts ${attempt}`,
    retrying: `waits for ${attempt}, which ${isPaused ? "is due" : "starts"}`,
    held:
      policy?.maxPerSecond === undefined
        ? "is held by a pause or a window, and may start"
        : `is held by a pause, a window or the limit of ${policy.maxPerSecond} a second, and may start`,
    late: "should have started: its consumer is slow or does not run",
    running: "is running; if nothing is heard of the run, the job runs again after",
  };
  return texts[shownState(job)];
}
