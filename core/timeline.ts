import { truncate } from "../general/text.ts";
import { LOG_ENTRIES, LOG_ERROR_BYTES } from "./constants.ts";
import { crashOf, startsAt } from "./home.ts";
import type { Home, LogEntry, State } from "./items.ts";
import { addressOf } from "./job-id.ts";

/**
 * What happened to a job. A home logs what its next move makes it forget, in the move's own write: the run in hand, how
 * that ended, and the move. What no move has touched yet is told from its attributes.
 */
export type Happening = Omit<LogEntry, "what"> & {
  what: LogEntry["what"] | "filed" | Exclude<State, "scheduled" | "running">;
};

/** How a run ended that is not over for good. */
export type RunEnd = { readonly what: "failed" | "asked-to-retry"; readonly error?: string };

/** A job's log once it is moved at `at` to `dueAt`, ms since the epoch: the last ten entries. */
export function logAfter(home: Home, at: number, dueAt: number, end: RunEnd | undefined): LogEntry[] {
  const ended = home.state === "dead" ? deathOf(home) : endOf(home, at, end);
  const log: LogEntry[] = [...(home.log ?? []), ...runOf(home), ...ended, { what: "moved", at, dueAt }];
  return log.slice(-LOG_ENTRIES);
}

/** The last ten things that happened to a job, oldest first. */
export function timelineOf(home: Home): Happening[] {
  const { id, createdAt: at, log = [] } = home;
  const filed: Happening = { what: "filed", at, dueAt: addressOf(id).time };
  return [filed, ...log, ...runOf(home), ...finishOf(home)].slice(-LOG_ENTRIES);
}

/** The message that was met since the last move, and the run that it began. */
function runOf({ sentAt, claimedAt, token, pausedMs = 0, ...home }: Home): LogEntry[] {
  const isRun = token !== undefined && claimedAt !== undefined;
  const attempt = isRun ? home.attempt : home.attempt + 1;
  const sent: LogEntry[] = sentAt === undefined ? [] : [{ what: "sent", at: sentAt, attempt }];
  if (!isRun) return sent;
  // With what the job had lost before a hold gave it a new start.
  const lost = Math.max((home.heldFrom ?? home.dueAt) - home.dueAt, 0);
  const late = lost + Math.max(claimedAt - startsAt(home) - pausedMs, 0);
  return [...sent, { what: "claimed", at: claimedAt, attempt, late }];
}

/** The end of the run in hand; one that nobody ended has crashed. */
function endOf(home: Home, at: number, end: RunEnd = { what: "failed", error: crashOf(home) }): LogEntry[] {
  if (home.token === undefined) return [];
  const { what, error } = end;
  return [{ what, at, attempt: home.attempt, ...(error === undefined ? {} : { error: short(error) }) }];
}

function deathOf({ finishedAt: at = 0, token, attempt, lastError = "" }: Home): [LogEntry] {
  return [{ what: "dead", at, ...(token === undefined ? {} : { attempt }), error: short(lastError) }];
}

function finishOf(home: Home): Happening[] {
  const { state, finishedAt: at, token, sentAt, attempt, lastError } = home;
  if (state === "dead") return deathOf(home);
  if (at === undefined || state === "scheduled" || state === "running") return [];
  if (state === "done") return [{ what: state, at, attempt }];
  // Whoever met its message, or its note, ended it for being late, and said so; a caller's cancel says nothing.
  const isTooLate = state === "expired" || (token === undefined && sentAt !== undefined);
  const why = isTooLate ? lastError : undefined;
  return [
    ...endOf(home, at, askedEnd(home)),
    { what: state, at, ...(why === undefined ? {} : { error: short(why) }) },
  ];
}

/** How a run ended after which the job was not run again, since an event had cancelled it. */
function askedEnd({ cancelAskedAt, lastError: error }: Home): RunEnd | undefined {
  if (cancelAskedAt === undefined) return undefined;
  return error === undefined ? { what: "asked-to-retry" } : { what: "failed", error };
}

const short = (error: string): string => truncate(error, LOG_ERROR_BYTES);
