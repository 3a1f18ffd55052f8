import { type Actor, actorOf } from "./actor.ts";
import { LOG_BYTES, LOG_ENTRIES, LOG_ERROR_BYTES } from "./constants.ts";
import {
  crashOf,
  type Head,
  type HeadIn,
  type Home,
  isFinished,
  type LogEntry,
  type State,
  startsAt,
} from "./home.ts";
import { addressOf } from "./job-id.ts";
import { onceNotesOf, scheduleIn } from "./once.ts";
import { truncateError } from "./thrown.ts";

/** A move overwrites what a home says of the last run, so it logs that run. What came since the last move is read from attributes. */
export type Happening = Omit<LogEntry, "what"> & {
  what: LogEntry["what"] | "filed" | Exclude<State, "scheduled" | "running">;
};

/** How a run ended, if the job runs again after it. */
export type RunEnd =
  /** `isThrottled`: the run could not begin, and is no attempt. */
  | { readonly what: "failed"; readonly error: string; readonly isThrottled?: true }
  | { readonly what: "asked-to-retry" };

/** A retry, or a move by somebody. `dueAt`: ms since the epoch. */
type Moved = { readonly what: "retried" | "moved"; readonly dueAt: number; readonly by?: Actor | undefined };

/**
 * Answers the log of a job that is moved, or dismissed, at `at` (ms since the epoch): its last entries. `moved`: absent if the job is dismissed.
 * `end`: how the last run ended.
 */
export function logAfter(home: Head, at: number, moved?: Moved, end?: RunEnd): LogEntry[] {
  const ended = home.state === "dead" ? deathOf(home) : endOf(home, at, end);
  const log: LogEntry[] = [...(home.log ?? []), ...runOf(home, at), ...ended];
  if (moved) log.push({ what: moved.what, at, dueAt: moved.dueAt, ...(moved.by && { by: moved.by }) });
  return fitted(log.slice(-LOG_ENTRIES));
}

/** When a dismissed job died: ms since the epoch. Only the log of a dismissed job ends with a death. `undefined`: the job was not dismissed. */
export function diedAt({ log = [] }: Head): number | undefined {
  const last = log.at(-1);
  return last?.what === "dead" ? last.at : undefined;
}

/** Drops the reasons and names of the oldest moves until the log has at most `LOG_BYTES`. The newest move keeps its own, also in a longer log. */
function fitted(log: readonly LogEntry[]): LogEntry[] {
  const entries = [...log];
  for (const [i, entry] of log.slice(0, -1).entries()) {
    if (bytesOf(entries) <= LOG_BYTES) break;
    if (entry.by) entries[i] = { ...entry, by: actorOf(entry.by.kind) };
  }
  return entries;
}

function bytesOf(log: readonly LogEntry[]): number {
  return Buffer.byteLength(JSON.stringify(log));
}

/** Answers a job's filing and the last things that happened to it, oldest first, at most `LOG_ENTRIES`. */
export function timelineOf(home: Home): Happening[] {
  const [filed, ...later] = knownOf(home);
  return [filed, ...later.slice(1 - LOG_ENTRIES)];
}

/** Whether events after the filing are missing in `timelineOf`. A log that has lost entries is full, so with the filing it is too long. */
export function hasLostEvents(home: Home): boolean {
  return knownOf(home).length > LOG_ENTRIES;
}

function knownOf(home: Home): [Happening, ...Happening[]] {
  const { id, createdAt: at, log = [] } = home;
  const by = home.once === undefined ? undefined : filerOf(home, home.once);
  const filed: Happening = { what: "filed", at, dueAt: addressOf(id).time, ...(by && { by }) };
  return [filed, ...log, ...runOf(home, home.finishedAt), ...finishOf(home)];
}

/** The schedule or the event that has filed a job, as far as its once items tell. */
function filerOf({ createdAt, eventAt }: Home, once: string): Actor | undefined {
  const { schedule: name } = scheduleIn(once);
  if (name !== undefined) return actorOf("schedule", { name });
  // No key of a caller begins with `§`: `applyRule` makes these tokens.
  const isOfEvent = eventAt === createdAt && onceNotesOf(once).some(({ token }) => token.startsWith("§"));
  return isOfEvent ? actorOf("event") : undefined;
}

/**
 * Answers the start that the job was given since its last move, the message that reached a consumer, and the run that it started. `end`: when
 * the job was moved or ended, ms since the epoch.
 */
function runOf({ sentAt, claimedAt, token, ...home }: Head, end: number | undefined): LogEntry[] {
  const isRun = token !== undefined && claimedAt !== undefined;
  const attempt = isRun ? home.attempt : home.attempt + 1;
  const sent: LogEntry[] = sentAt === undefined ? [] : [{ what: "sent", at: sentAt, attempt }];
  // A message that was sent before may claim the job.
  const before = [...holdOf(home, isRun ? claimedAt : end), ...sent].sort((a, b) => a.at - b.at);
  if (!isRun) return before;
  const late = Math.max(claimedAt - startsAt(home), 0);
  return [...before, { what: "claimed", at: claimedAt, attempt, late }];
}

/** `latest`: a call that came a moment before the hold may have claimed, moved or cancelled the job a moment after it. */
function holdOf(
  { heldUntil, heldBy }: Pick<Home, "heldUntil" | "heldBy">,
  latest = Number.POSITIVE_INFINITY,
): LogEntry[] {
  if (heldUntil === undefined || heldBy === undefined) return [];
  return [{ what: "held", at: Math.min(heldBy.at, latest), until: heldUntil, by: actorOf(heldBy.kind) }];
}

/** Answers the end of the last run. A run without an end has crashed. */
function endOf(home: Head, at: number, known: RunEnd | undefined): LogEntry[] {
  if (home.token === undefined) return [];
  const end = known ?? { what: "failed", error: crashOf(home) };
  const error = end.what === "failed" ? { error: short(end.error) } : {};
  return [{ what: end.what, at, attempt: home.attempt, ...error }];
}

function deathOf({ finishedAt: at, token, attempt, lastError = "" }: HeadIn<"dead">): [LogEntry] {
  return [{ what: "dead", at, ...(token === undefined ? {} : { attempt }), error: short(lastError) }];
}

function finishOf(home: Home): Happening[] {
  if (home.state === "dead") return deathOf(home);
  if (!isFinished(home)) return [];
  const { state, finishedAt: at, attempt, lastError, cancelledBy, cancelAskedAt } = home;
  if (state === "done") return [{ what: state, at, attempt }];
  // A job that was too late has its reason in `lastError`. After a caller's cancel, `lastError` comes from an earlier run.
  const isTooLate = state === "expired" || cancelledBy?.kind === "topic";
  const why = isTooLate ? lastError : undefined;
  const by = cancelledBy ?? (cancelAskedAt === undefined ? undefined : actorOf("event"));
  return [
    ...endOf(home, at, endOfCancelledRun(home)),
    { what: state, at, ...(by && { by }), ...(why === undefined ? {} : { error: short(why) }) },
  ];
}

/** Answers how the last run ended, if the job did not run again because an event had cancelled it. */
function endOfCancelledRun({ cancelAskedAt, lastError: error }: Home): RunEnd | undefined {
  if (cancelAskedAt === undefined) return undefined;
  return error === undefined ? { what: "asked-to-retry" } : { what: "failed", error };
}

const short = (error: string): string => truncateError(error, LOG_ERROR_BYTES);
