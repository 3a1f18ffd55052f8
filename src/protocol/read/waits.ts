import { LATE_AFTER, VISIBILITY_MARGIN } from "../../core/constants.ts";
import { type Head, hasCrashed, startsAt } from "../../core/home.ts";
import { limitedKey, parkedKey } from "../../core/item-keys.ts";
import type { Parked } from "../../core/items.ts";
import { lateSince, type TopicNow, topicsNow } from "../gate/known-pauses.ts";
import { isBehindPause } from "../gate/park.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { readApart } from "../store/read-apart.ts";

/**
 * `held`: a pause, a resume at a rate, a limit or a window lets the job wait. `late`: nothing does, since this time (ms since the epoch).
 * `retrying`: the last attempt failed, and the next one is not due yet.
 */
export type Wait = { readonly is: "held" | "retrying" } | { readonly is: "late"; readonly since: number };

const HELD = { is: "held" } as const;
const RETRYING = { is: "retrying" } as const;

/**
 * The one definition of late: a tracked job that could have started `LATE_AFTER` ago, has not, and that nothing holds. Answers by id which of
 * these jobs are late or held, or wait for a retry. A job that is due later for another reason, runs or has ended does none of these, nor does
 * a due job whose topic's pause cannot be read. Reads pauses and notes only for jobs that are due.
 */
export async function waitsOf(ctx: Context, homes: readonly Head[]): Promise<Map<string, Wait>> {
  const now = ctx.clock();
  const waiting = homes.filter((home) => isWaiting(home, now));
  const waits = new Map<string, Wait>();
  for (const home of waiting) {
    if (startsAt(home) > Math.max(home.dueAt, now)) waits.set(home.id, HELD);
    else if (isWaitingForRetry(home, now)) waits.set(home.id, RETRYING);
  }
  const due = waiting.filter((home) => startsAt(home) <= now);
  if (due.length === 0) return waits;
  const { known } = await topicsNow(
    ctx,
    due.map(({ topic }) => topic),
  );
  const parked = await parkedAmong(ctx, due, known);
  for (const home of due) {
    const topic = known.get(home.topic);
    const wait = topic && waitOf(home, topic, parked.has(home.id), now);
    if (wait) waits.set(home.id, wait);
  }
  return waits;
}

function isWaiting(home: Head, now: number): boolean {
  return !home.untracked && (home.state === "scheduled" || hasCrashed(home, now));
}

/** A change by a caller sets `attempt` to 0. A retry that is due, but held, does not wait for its time any more. */
export function isWaitingForRetry(
  { state, attempt, dueAt, throttled, log = [] }: Head,
  now: number,
): boolean {
  const end = log.findLast(({ what }) => what === "failed" || what === "asked-to-retry");
  const hasFailed = attempt > 0 && end?.what !== "asked-to-retry";
  return state === "scheduled" && dueAt > now && (hasFailed || throttled !== undefined);
}

function waitOf(home: Head, topicNow: TopicNow, isParked: boolean, now: number): Wait | undefined {
  if (isParked || isBehindPause(home, topicNow)) return HELD;
  // The message of a crashed run comes again some time after its lease.
  const start = home.state === "running" ? home.leaseEnd + VISIBILITY_MARGIN : startsAt(home);
  const since = lateSince(topicNow, start);
  // The topic's window is shut, or its consumers do not yet follow its resume.
  if (since > now && start <= now) return HELD;
  return now - since >= LATE_AFTER ? { is: "late", since } : undefined;
}

/** The ids of the jobs that wait for a release, as their notes say, or may do so. Only topics with a limit or a resume can have such jobs. */
async function parkedAmong(
  ctx: Context,
  homes: readonly Head[],
  topics: ReadonlyMap<string, TopicNow>,
): Promise<Set<string>> {
  const limited = await everLimited(ctx, [...topics.keys()]);
  const mayBeParked = ({ topic }: Head): boolean =>
    isLimited(ctx, topic) || topics.get(topic)?.isResuming === true || limited.has(topic);
  const asked = homes.filter(mayBeParked);
  const notes = asked.length === 0 ? [] : await readApart<Parked, Head>(ctx, asked, parkedKey);
  return new Set(notes.flatMap(([{ id }, note]) => (note.is === "nothing" ? [] : id)));
}

/** The topics whose jobs were parked for a limit once, or may have been. Reads items by their keys: a direct client may make no queries. */
async function everLimited(ctx: Context, topics: readonly string[]): Promise<Set<string>> {
  const items = await readApart(ctx, topics, limitedKey);
  return new Set(items.flatMap(([topic, item]) => (item.is === "nothing" ? [] : topic)));
}
