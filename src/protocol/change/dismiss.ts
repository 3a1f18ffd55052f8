import { type IfMatch, requireAsSeen } from "../../core/as-seen.ts";
import { WRITER_DEADLINE } from "../../core/constants.ts";
import { keepsChanging, MinutehandError } from "../../core/errors.ts";
import { type Head, type HeadIn, stateAt } from "../../core/home.ts";
import { isUnreadable, readHome, type Unreadable, unreadableError } from "../../core/readable.ts";
import { changeOf } from "../../core/states.ts";
import { logAfter } from "../../core/timeline.ts";
import { inParallel } from "../../general/batches.ts";
import { endAt } from "../policy.ts";
import type { Context } from "../ports.ts";
import { countDead } from "../read/dead-jobs.ts";
import { removeDeadEntry } from "../store/dead-entry.ts";
import { releaseKey } from "../store/keys.ts";
import { notInTopic, readHeads } from "../store/read-job.ts";
import { hasAttributes } from "./move.ts";

export type DismissRequest = {
  ids: readonly string[];
  /** Given with one id only. */
  ifMatch?: IfMatch;
};

export type Dismissed = {
  /** How many of the jobs are cancelled now, by this call or before it. */
  dismissed: number;
  /** How many jobs of the topic are still dead, counted up to 1,000. */
  left: number;
  refused: { id: string; error: MinutehandError }[];
};

const TRIES = 10;
const WIDTH = 8;

/** Ends dead jobs of a topic as cancelled. The tick then removes their letters. Can be repeated. @throws `changed-meanwhile`; `unavailable` */
export async function dismiss(
  ctx: Context,
  topic: string,
  { ids, ifMatch }: DismissRequest,
): Promise<Dismissed> {
  const unique = [...new Set(ids)];
  const homes = await readHeads(ctx, unique);
  const results = await inParallel([...unique.entries()], WIDTH, async ([i, id]) => {
    try {
      await dismissNamed(ctx, topic, id, homes[i], ifMatch);
      return [];
    } catch (error) {
      if (!(error instanceof MinutehandError) || error.code === "changed-meanwhile") throw error;
      return { id, error };
    }
  });
  const refused = results.flat();
  return { dismissed: unique.length - refused.length, left: await countDead(ctx, topic), refused };
}

async function dismissNamed(
  ctx: Context,
  topic: string,
  id: string,
  read: Head | Unreadable | undefined,
  ifMatch: IfMatch | undefined,
): Promise<void> {
  let found = read;
  for (let i = 0; i < TRIES; i++) {
    if (isUnreadable(found)) throw unreadableError(found);
    if (found?.topic !== topic) throw notInTopic(topic, id);
    if (found.state === "cancelled") return;
    if (found.state !== "dead") throw notDead(found, ctx.clock());
    requireAsSeen(found, ifMatch);
    found = (await dismissAsRead(ctx, found)).home;
  }
  throw keepsChanging(`job ${id}`, { id });
}

export function notDead(home: Head, now: number): MinutehandError {
  const [{ id }, state] = [home, stateAt(home, now)];
  const text = `job ${id} is ${state}, and only a dead job can be dismissed`;
  return new MinutehandError("job-not-dead", text, { id, state });
}

/** `home`: the job as it is then. */
type Tried = { readonly dismissed: boolean; readonly home: Head | Unreadable | undefined };

/** Dismisses a job if it is still dead as it was read. @throws `unavailable` */
export async function dismissAsRead(ctx: Context, home: HeadIn<"dead">): Promise<Tried> {
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const end = endAt(ctx, now);
  const change = changeOf("dismiss", home, {
    ...end,
    // The once items of the job are stored only for as long as a dead job.
    expiresAt: Math.min(end.expiresAt, home.expiresAt),
    log: logAfter(home, now),
    ...(ctx.by && { cancelledBy: ctx.by() }),
  });
  const changed = await ctx.pool.change(change, by);
  const found = changed.item && readHome(changed.item, home.id);
  if (!found || isUnreadable(found)) return { dismissed: false, home: found };
  // A repeat after a lost answer finds its own effect.
  if (!changed.changed && !hasAttributes(found, change.set)) return { dismissed: false, home: found };
  await releaseKey(ctx, found, found.expiresAt ?? 0, by);
  await removeDeadEntry(ctx, home, by);
  ctx.report({ type: "cancelled", topic: home.topic, id: home.id });
  return { dismissed: true, home: found };
}
