import { hasCrashed, hasExpired } from "../../core/home.ts";
import { type Home, homeKey, type Parked, parkedSortTime, timeOf } from "../../core/items.ts";
import { isStartAhead, startsOutsideWindow } from "../gate/start-gate.ts";
import type { Context } from "../ports.ts";
import { readHomesApart } from "../store/read-job.ts";
import { lookAtUnreadableAgain, type UnreadableSince } from "../store/unreadable.ts";
import type { Release } from "./release-state.ts";

/** A job that waits for a start, or has expired while it waited. */
export type Waiting = {
  readonly home: Home;
  /** All notes that park the job. */
  readonly notes: Parked[];
};

/** What notes mean for a release. */
export type JudgedNotes = {
  /** Jobs that wait for a start. */
  readonly waiting: readonly Waiting[];
  /** Jobs that are sent as they are: they have a start, or their run has crashed. */
  readonly toSend: readonly Home[];
  /** Jobs that have expired. The release ends them. */
  readonly expired: readonly Waiting[];
  /** Notes that are deleted when all jobs above are handled. Some of their jobs were cancelled, moved or ended. */
  readonly done: readonly Parked[];
};

/** Reads the jobs of these notes, and decides what a release does with each job and note. */
export async function judgeNotes(ctx: Context, run: Release, notes: readonly Parked[]): Promise<JudgedNotes> {
  const reads = await readHomesApart(ctx, notes);
  const now = ctx.clock();
  const waiting = new Map<string, Waiting>();
  const expired = new Map<string, Waiting>();
  const toSend = new Map<string, Home>();
  const done: Parked[] = [];
  const unreadable: UnreadableSince[] = [];
  // In a resume, a release must have given the start that lies ahead: a start from before the pause does not count.
  const keepsStart = (home: Home, isMoved: boolean): boolean =>
    isStartAhead(home, now) && !startsOutsideWindow(ctx, home) && (isMoved || !run.pause);
  for (const [note, read] of reads) {
    if (read.is === "unknown") {
      // The next tick tries again.
      run.sick.add(homeKey(note.id).pk);
      continue;
    }
    if (read.is === "unreadable") {
      // From now on looks find the job, so it needs no note.
      unreadable.push({ ...read.home, since: now });
    }
    if (read.is !== "found") {
      done.push(note);
      continue;
    }
    const home = read.value;
    // A release, or several in a row, may have moved the job to a start by a new revision, and died before it sent the job.
    const isMoved =
      home.heldUntil !== undefined &&
      parkedSortTime(home) === timeOf(note.sk) &&
      home.revision > note.revision;
    if (!(home.revision === note.revision || isMoved)) {
      done.push(note);
      continue;
    }
    const isExpired = hasExpired(home, now);
    if (home.state === "scheduled" && (isExpired || !keepsStart(home, isMoved))) {
      const these = isExpired ? expired : waiting;
      const found = these.get(home.id) ?? { home, notes: [] };
      found.notes.push(note);
      these.set(home.id, found);
    } else {
      // The consumer that receives the message of a crashed run settles the run.
      if (home.state === "scheduled" || hasCrashed(home, now)) toSend.set(home.id, home);
      done.push(note);
    }
  }
  await lookAtUnreadableAgain(ctx, "releasing parked jobs", unreadable);
  return {
    waiting: [...waiting.values()],
    toSend: [...toSend.values()],
    expired: [...expired.values()],
    done,
  };
}
