import { THROTTLED } from "../../src/core/thrown.ts";
import type { JobJson } from "../../src/http/answers/jobs.ts";

type Event = JobJson["timeline"][number];

/** A run of a job, as far as the timeline tells it. Times are ISO 8601. `lateness` in s, `took` in ms. */
export type Attempt = {
  readonly attempt: number;
  readonly started?: string;
  readonly lateness?: number;
  readonly took?: number;
  readonly outcome: Outcome;
  readonly error?: string;
};

type Outcome = "running" | "done" | "failed" | "dead" | "asked to run again" | "throttled" | "not heard of";

const OUTCOMES: Readonly<Partial<Record<Event["event"], Outcome>>> = {
  done: "done",
  failed: "failed",
  dead: "dead",
  "asked-to-retry": "asked to run again",
};

/** The attempts of the timeline, the newest first. The start of the first one may have been dropped from the timeline. */
export function attemptsOf({ timeline, state }: Pick<JobJson, "timeline" | "state">): Attempt[] {
  const attempts = timeline.flatMap((event, index) => {
    if (event.event === "claimed") return attemptFrom(event, timeline[index + 1], state);
    const before = timeline[index - 1];
    const outcome = outcomeOf(event);
    if (outcome === undefined || event.attempt === undefined || before?.event === "claimed") return [];
    return { attempt: event.attempt, outcome, ...(event.error !== undefined && { error: event.error }) };
  });
  return attempts.reverse();
}

function outcomeOf({ event, error }: Event): Outcome | undefined {
  return event === "failed" && error?.startsWith(THROTTLED) ? "throttled" : OUTCOMES[event];
}

function attemptFrom(start: Event, next: Event | undefined, state: JobJson["state"]): Attempt[] {
  const { attempt = 0, at: started, lateness } = start;
  const begun = { attempt, started, ...(lateness !== undefined && { lateness }) };
  const outcome = next && outcomeOf(next);
  if (next === undefined && state === "running") return [{ ...begun, outcome: "running" }];
  if (next === undefined || outcome === undefined) return [{ ...begun, outcome: "not heard of" }];
  const took = Date.parse(next.at) - Date.parse(started);
  return [{ ...begun, took, outcome, ...(next.error !== undefined && { error: next.error }) }];
}
