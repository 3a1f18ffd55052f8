import { DAY, LONGEST_DELAY } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import type { Head } from "../../core/home.ts";
import { isUnreadable, unreadableError } from "../../core/readable.ts";
import { inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { readHeads } from "../store/read-job.ts";
import { type Bulk, type BulkRequest, isForDead } from "./begin-bulk.ts";
import { isChangedBy, isFromBefore, marked } from "./bulk-marks.ts";
import { cancelMany } from "./cancel.ts";
import { dismissAsRead, notDead } from "./dismiss.ts";
import { redriveAsRead } from "./redrive.ts";
import { refusalOf, requireNotCancelled, requireUnclaimed } from "./refusals.ts";
import { reschedule } from "./reschedule.ts";

const WIDTH = 8;

export function refusal(
  { action, shift = 0 }: BulkRequest,
  home: Head,
  now: number,
): MinutehandError | undefined {
  if (isForDead(action)) return undefined;
  const refused = refusalOf(home, now, action === "cancel" ? requireUnclaimed : requireNotCancelled);
  return refused ?? (home.dueAt + shift > now + LONGEST_DELAY && shift > 0 ? tooFar(home.id) : undefined);
}

function tooFar(id: string): MinutehandError {
  const days = LONGEST_DELAY / DAY;
  return new MinutehandError("bad-request", `job ${id} must stay within ${days} days from now`, { id });
}

/** `left`: somebody else has changed the job since it was read, so the bulk left it alone. */
export type Result = "changed" | "left" | MinutehandError;

/** Changes jobs, each on its own. The answers are in the jobs' order, as are `starts`. */
export async function changeAll(
  ctx: Context,
  { action, ratePerSecond, shift }: BulkRequest,
  bulk: Bulk,
  homes: readonly Head[],
  starts: readonly number[],
): Promise<Result[]> {
  const leavesAlone = leavesAloneOf(bulk, homes, shift !== undefined);
  if (action === "cancel") {
    const results = await cancelMany(
      ctx,
      homes.map(({ id }) => id),
      leavesAlone,
      new Map(homes.map((home) => [home.id, marked(home, bulk)])),
    );
    // A job that another caller has cancelled since it was read does not carry the mark.
    return results.map((result, i) => {
      if (result instanceof MinutehandError) return result;
      return isChangedBy(bulk, homes[i] as Head, result) ? "changed" : "left";
    });
  }
  return inParallel([...homes.entries()], WIDTH, async ([i, home]): Promise<Result> => {
    const dueAt = shift === undefined ? (starts[i] as number) : home.dueAt + shift;
    try {
      if (action === "redrive") return await redriveDead(ctx, home, dueAt);
      if (action === "dismiss") return await dismissDead(ctx, home);
      // A move names a time of the clock, and jobs that the bulk reaches later are late. A run, and each start of a rate, begins now at the earliest.
      const wanted = action === "move" && ratePerSecond === undefined ? { wantedAt: dueAt } : {};
      const change = { dueAt, ...wanted, bulk: marked(home, bulk) };
      const moved = await reschedule(ctx, home.id, change, leavesAlone);
      return isChangedBy(bulk, home, moved) ? "changed" : "left";
    } catch (error) {
      if (error instanceof MinutehandError) return error;
      throw error;
    }
  });
}

/** Says whether somebody else has changed a job since it was read. `byTime`: also if a retry has given it another time. */
function leavesAloneOf(bulk: Bulk, homes: readonly Head[], byTime: boolean): (home: Head) => boolean {
  const read = new Map(homes.map((home) => [home.id, home]));
  return (home) => {
    const before = read.get(home.id);
    // If a process whose clock is behind changes the job after it was read, the new `askedAt` may lie before the bulk began.
    if (!isFromBefore(home, bulk) || home.askedAt !== before?.askedAt) return true;
    return byTime && home.dueAt !== before?.dueAt;
  };
}

/** Redrives one job. If the job is still dead at the same revision afterwards, its key names another job. */
async function redriveDead(ctx: Context, home: Head, dueAt: number): Promise<Result> {
  if (await redriveAsRead(ctx, home, dueAt)) return "changed";
  const [now] = await readHeads(ctx, [home.id]);
  if (now?.state !== "dead" || now.revision !== home.revision) return "left";
  return new MinutehandError(
    "job-already-exists",
    `job ${home.id} was not redriven, because its key names another job by now`,
    {
      id: home.id,
    },
  );
}

/** Dismisses one job. A job that was redriven since it was read is refused, and one that has died again since is left alone. */
async function dismissDead(ctx: Context, home: Head): Promise<Result> {
  const { dismissed, home: now } =
    home.state === "dead" ? await dismissAsRead(ctx, home) : { dismissed: false, home };
  if (dismissed) return "changed";
  if (isUnreadable(now)) return unreadableError(now);
  return now === undefined || now.state === "dead" || now.state === "cancelled"
    ? "left"
    : notDead(now, ctx.clock());
}
