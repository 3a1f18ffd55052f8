import { type Home, hasCrashed, hasExpired } from "../../core/home.ts";
import { homeKey, parkedSortTime, timeOf } from "../../core/item-keys.ts";
import type { Parked } from "../../core/items.ts";
import { isStartAhead, startsOutsideWindow } from "../gate/start-gate.ts";
import type { Context } from "../ports.ts";
import { uniqueJobs } from "../send/send.ts";
import { type HomeRead, readHomesApart } from "../store/read-job.ts";
import { lookAtUnreadableAgain } from "../store/unreadable.ts";
import type { Release } from "./release-state.ts";

/** A job that waits for a start, or expired while it waited. */
export type Waiting = {
  readonly home: Home;
  readonly notes: Parked[];
};

export type JudgedNotes = {
  readonly waiting: readonly Waiting[];
  /** Jobs that have a start, or whose run has crashed. */
  readonly toSend: readonly Home[];
  readonly expired: readonly Waiting[];
  /** Notes that are deleted once all jobs above are handled. */
  readonly done: readonly Parked[];
};

/** Homes that cannot be read make their partitions `sick`. */
export async function judgeNotes(ctx: Context, run: Release, notes: readonly Parked[]): Promise<JudgedNotes> {
  const reads = await readHomesApart(ctx, notes);
  const now = ctx.clock();
  const judged = reads.map(([note, read]) => ({ note, ...meaningOf(ctx, run, note, read, now) }));
  for (const { means, note } of judged) if (means === "unread") run.sick.add(homeKey(note.id).pk);
  // Looks find an unreadable job, so it needs no note.
  const unreadable = reads.flatMap(([, read]) =>
    read.is === "unreadable" ? { ...read.home, since: now } : [],
  );
  await lookAtUnreadableAgain(ctx, "releasing parked jobs", unreadable);
  const jobsThat = (means: "waiting" | "expired"): Waiting[] => {
    const those = judged.flatMap((one) => (one.means === means ? one : []));
    const byJob = Map.groupBy(those, ({ home }) => home.id);
    return uniqueJobs(those.map(({ home }) => home)).map((home) => {
      return { home, notes: (byJob.get(home.id) ?? []).map(({ note }) => note) };
    });
  };
  return {
    waiting: jobsThat("waiting"),
    toSend: uniqueJobs(judged.flatMap((one) => (one.means === "to-send" ? one.home : []))),
    expired: jobsThat("expired"),
    done: judged.flatMap(({ means, note }) => (means === "done" || means === "to-send" ? note : [])),
  };
}

/** `done`: the note's job needs nothing of this release. */
type Meaning =
  | { readonly means: "waiting" | "expired" | "to-send"; readonly home: Home }
  | { readonly means: "done" | "unread" };

function meaningOf(ctx: Context, run: Release, note: Parked, read: HomeRead, now: number): Meaning {
  if (read.is === "unknown") return { means: "unread" };
  if (read.is !== "found") return { means: "done" };
  const home = read.value;
  // A release may have moved the job to a start by a new revision, and died before it sent the job.
  const isMoved =
    home.heldUntil !== undefined && parkedSortTime(home) === timeOf(note.sk) && home.revision > note.revision;
  if (home.revision !== note.revision && !isMoved) return { means: "done" };
  // A crashed run's message makes its consumer settle it.
  if (home.state !== "scheduled")
    return hasCrashed(home, now) ? { means: "to-send", home } : { means: "done" };
  if (hasExpired(home, now)) return { means: "expired", home };
  // In a resume, a start from before the pause does not count.
  const keepsStart = isStartAhead(home, now) && !startsOutsideWindow(ctx, home) && (isMoved || !run.pause);
  return { means: keepsStart ? "to-send" : "waiting", home };
}
