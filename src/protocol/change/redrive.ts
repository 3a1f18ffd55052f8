import { type IfMatch, requireAsSeen } from "../../core/as-seen.ts";
import { WRITER_DEADLINE } from "../../core/constants.ts";
import type { Head, Home } from "../../core/home.ts";
import { chosenKey } from "../../core/item-keys.ts";
import type { Chosen } from "../../core/items.ts";
import { type CallMark, withCall } from "../../core/once.ts";
import { isUnreadable, unreadableError } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import { topicNow } from "../gate/known-pauses.ts";
import type { Context } from "../ports.ts";
import { countDead, deadJobs } from "../read/dead-jobs.ts";
import { removeDeadEntry } from "../store/dead-entry.ts";
import { notInTopic, readHeads, readJob, readReadableHomes } from "../store/read-job.ts";
import { selectRedrivable, writeToReclaimKey } from "../store/reclaim-keys.ts";
import { reportUnreadable } from "../store/unreadable.ts";
import { isKnownCall, noteOfCall } from "./calls.ts";
import { move } from "./move.ts";
import { startsAtRate } from "./starts-at-rate.ts";

export type RedriveRequest = {
  /** The jobs to redrive. Absent: the oldest `max`. */
  ids?: readonly string[];
  max: number;
  /** ms from now to the first run. */
  delay: number;
  ratePerSecond?: number;
  call?: CallMark;
  /** Given with one id only. */
  ifMatch?: IfMatch;
};

export type Redriven = {
  /** How many jobs this call, or an earlier try of it, has redriven. */
  redriven: number;
  /** How many jobs of the topic are dead now, also those that have died again, counted up to 1,000. */
  left: number;
};

const WIDTH = 8;
/** DynamoDB reads this many items in one call ("BatchGetItem", DynamoDB API Reference). */
const KEYS_AT_ONCE = 100;

/**
 * Redrives dead jobs of a topic with a full set of attempts. A job whose key names another job stays dead. A repeat with the same `call` takes
 * the same jobs, and counts those that an earlier try has redriven. @throws `job-not-found`, `changed-meanwhile`, `idempotency-mismatch`, `unavailable`
 */
export async function redrive(ctx: Context, topic: string, request: RedriveRequest): Promise<Redriven> {
  const { call } = request;
  const homes = request.ids
    ? await namedHomes(ctx, topic, request.ids)
    : await oldestHomes(ctx, topic, request.max, call);
  const before = new Set(call ? homes.filter((home) => isKnownCall(home, call)) : []);
  for (const home of homes) if (!before.has(home)) requireAsSeen(home, request.ifMatch);
  const chosen = homes.filter((home) => before.has(home) || home.state === "dead");
  // Until consumers have followed a resume, jobs with starts of a rate would pile up in SQS and then all run at once.
  const first = request.ratePerSecond === undefined ? 0 : (await topicNow(ctx, topic)).followedAt;
  const start = Math.max(ctx.clock() + request.delay, first);
  // Without a delay, nobody names a time, so no job is late because the redrive takes a while.
  // rule: redrive-keeps-its-time
  const named = { hasTime: request.delay > 0 };
  const { starts } = startsAtRate(ctx, topic, request.ratePerSecond, { first: start, count: chosen.length });
  const redriven = await inParallel(
    [...chosen.entries()],
    WIDTH,
    async ([i, head]) => before.has(head) || redriveAsRead(ctx, head, starts[i] ?? start, { ...named, call }),
  );
  // Only this id was asked for. If another call was faster, the job is not as it was seen.
  const [only] = request.ifMatch !== undefined && redriven[0] === false ? chosen : [];
  if (only) requireAsSeen(await readJob(ctx, only.id), request.ifMatch);
  return { redriven: redriven.filter(Boolean).length, left: await countDead(ctx, topic) };
}

type HowRedriven = {
  readonly call?: CallMark | undefined;
  /** Whether the caller has asked for the due time. Then the job is late since it. */
  readonly hasTime?: boolean;
  /** How long the move may take, and then the removal of the dead entry: ms each. */
  readonly patience?: number;
};

/** `false`: the job is not dead any more, or its key names another job. */
export async function redriveJob(
  ctx: Context,
  home: Home,
  dueAt: number,
  { call, hasTime = false, patience = WRITER_DEADLINE }: HowRedriven = {},
): Promise<boolean> {
  const at = Math.round(dueAt);
  const together = home.key === undefined ? undefined : await writeToReclaimKey(ctx, home);
  if (together === "taken") return false;
  const moved = await move(ctx, home, {
    change: "redrive",
    dueAt: at,
    asked: hasTime ? { wantedAt: at } : {},
    set: {
      attempt: 0,
      askedAt: ctx.clock(),
      restarts: (home.restarts ?? 0) + 1,
      ...(call ? { calls: withCall(home.calls, call) } : {}),
    },
    remove: ["hasRun"],
    // rule: redriven-job-takes-its-key
    ...(together ? { together: [together] } : {}),
    why: "redriven",
    patience,
  });
  if (!moved.moved) return wasRedrivenBy(moved.home, call);
  await removeDeadEntry(ctx, home, ctx.clock() + patience);
  return true;
}

/** The same call may have been sent twice at once. */
function wasRedrivenBy(home: Home | undefined, call: CallMark | undefined): boolean {
  return home !== undefined && call !== undefined && isKnownCall(home, call);
}

/** Redrives a job that was read without its body, if it is still dead at the same revision. `true` also for a job that `call` has redriven. */
export async function redriveAsRead(
  ctx: Context,
  { id, revision }: Head,
  dueAt: number,
  how?: HowRedriven,
): Promise<boolean> {
  const [home] = await readReadableHomes(ctx, [id], "redriving jobs");
  if (home?.state !== "dead" || home.revision !== revision) return wasRedrivenBy(home, how?.call);
  return redriveJob(ctx, home, dueAt, how);
}

/** Throws `job-not-found`, or `unavailable` if a job is unreadable. */
async function namedHomes(ctx: Context, topic: string, ids: readonly string[]): Promise<Head[]> {
  const unique = [...new Set(ids)];
  const homes = await readHeads(ctx, unique);
  return homes.map((home, i) => {
    if (isUnreadable(home)) throw unreadableError(home);
    if (home?.topic === topic) return home;
    throw notInTopic(topic, unique[i] ?? "");
  });
}

/** A call that may be repeated notes its choice before it moves a job: afterwards others are the oldest. */
async function oldestHomes(
  ctx: Context,
  topic: string,
  max: number,
  call: CallMark | undefined,
): Promise<Head[]> {
  if (!call) return deadHomes(ctx, topic, max, false);
  const { ids } = await noteOfCall<Chosen>(ctx, chosenKey(topic, call.key), call, async () => {
    return { ids: (await deadHomes(ctx, topic, max, true)).map(({ id }) => id).join("\n") };
  });
  const homes = await readHeads(ctx, ids === "" ? [] : ids.split("\n"));
  reportUnreadable(ctx, "redriving jobs", homes.filter(isUnreadable));
  return homes.filter((home) => home !== undefined && !isUnreadable(home));
}

/** Leaves out jobs whose keys name other jobs: otherwise no call would ever get to the jobs behind them. */
async function deadHomes(ctx: Context, topic: string, max: number, mustRead: boolean): Promise<Head[]> {
  const homes: Head[] = [];
  let met: Head[] = [];
  let atOnce = max;
  for await (const { home } of deadJobs(ctx, topic)) {
    met.push(home);
    if (met.length < atOnce) continue;
    homes.push(...(await selectRedrivable(ctx, topic, met, mustRead)));
    if (homes.length >= max) break;
    met = [];
    atOnce = KEYS_AT_ONCE;
  }
  if (homes.length < max) homes.push(...(await selectRedrivable(ctx, topic, met, mustRead)));
  return homes.slice(0, max);
}
