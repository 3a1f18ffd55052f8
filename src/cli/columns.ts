import { actorText } from "../client/actor-text.ts";
import type { JobState, JobSummary } from "../client/answers.ts";
import { splitPlace } from "../core/thrown.ts";
import type { ActorJson } from "../http/answers/actor.ts";
import type { Style } from "./output.ts";
import type { Column } from "./table.ts";

const STYLES: Readonly<Partial<Record<JobState, Style>>> = {
  running: "cyan",
  done: "green",
  dead: "red",
  cancelled: "dim",
  expired: "yellow",
};

export function styleOf(state: JobState): Style | undefined {
  return STYLES[state];
}

export function many(count: number, noun = "job"): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** The API counts parked and dead jobs only up to this number. */
const COUNTED_TO = 1000;

/** A count that the API cuts off at `COUNTED_TO`, such as `1,000 or more`. */
export function counted(count: number): string {
  return `${count.toLocaleString("en")}${count < COUNTED_TO ? "" : " or more"}`;
}

const ERROR_CHARS = 60;

export function brief(error: string | undefined): string {
  const [text, place] = splitPlace(error ?? "");
  const [line = ""] = text.split("\n");
  const room = ERROR_CHARS - place.length;
  return (line.length > room ? `${line.slice(0, room - 1)}…` : line) + place;
}

export const JOB_COLUMNS: Column<JobSummary>[] = [
  { head: "DUE", text: ({ dueAt }) => dueAt },
  { head: "HELD UNTIL", text: ({ heldUntil }) => heldUntil },
  { head: "STATE", text: ({ state }) => state, style: ({ state }) => styleOf(state) },
  { head: "TOPIC", text: ({ topic }) => topic },
  { head: "ID", text: ({ id }) => id },
  { head: "KEY", text: ({ key }) => key },
  { head: "TAG", text: ({ tag }) => tag },
  { head: "GROUP", text: ({ group }) => group },
  { head: "ATTEMPT", align: "right", text: ({ attempt, maxAttempts }) => `${attempt}/${maxAttempts}` },
  { head: "ERROR", text: ({ lastError }) => brief(lastError) },
];

export function changedLine({ id, key, topic, state, dueAt, outcome }: JobSummary): string {
  const named = key === undefined ? id : `${id} (${key})`;
  const now = state === "scheduled" ? `due ${dueAt}` : state;
  return `${outcome === undefined ? "" : `${outcome} `}${named} of ${topic}: ${now}`;
}

/** Who paused a topic, to follow other text. Empty if only some caller did. */
export function pausedBy({ by }: { readonly by?: ActorJson }): string {
  return by?.name === undefined && by?.reason === undefined ? "" : ` by ${actorText(by)}`;
}
