import { BUCKET } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { type Range, sharesOf } from "../../core/ranges.ts";
import type { KnownQueues, TickPart } from "../../core/tick-part.ts";
import type { Context } from "../ports.ts";
import { type Backlogs, topicsBehind } from "./backlog.ts";

/**
 * For how long after the beginning of a tick its sweeps begin new work, in all its invocations: ms. The next tick begins a minute after
 * this tick, with all shards. If two ticks swept the same range at the same time, they would send the same jobs.
 */
const SWEEPERS_WORK_FOR = BUCKET - 5_000;

/** How many further invocations share one shard at most: they all write the cursor of the shard. */
const MOST_A_SHARD = 8;

/** A shard to sweep and then to audit. `ranges`: only these ranges are left to sweep. If `ranges` is empty, only the audit is left. */
export type SweepTask = { readonly shard: number; readonly ranges?: readonly Range[] };

/** How a tick gives shards to further invocations. */
export type Division = {
  /** When the time of working alone ends: ms since the epoch. */
  readonly at: number;
  /** From this time on, sweeps of this tick begin nothing new, here and in further invocations: ms since the epoch. Soon after, the next tick begins. */
  readonly end: number;
  /** Set if each shard goes to one invocation at most. Otherwise several invocations share what a sweep has left of a shard. */
  readonly isByShard: boolean;
  /** Whether further invocations may still be started. */
  readonly canGive: () => boolean;
  /** Whether it is time to give shards away. */
  readonly isTime: () => boolean;
  /** Says that a sweep has succeeded. As long as no sweep has succeeded, no invocation is started: its sweeps would probably fail too. */
  readonly worked: () => void;
  /** Divides these tasks among further invocations. Answers the tasks that this invocation must do itself. */
  readonly give: (tasks: readonly SweepTask[]) => Promise<SweepTask[]>;
};

/**
 * Makes the division of a tick. Answers `undefined` if the tick may start no further invocation.
 * @param shards how many shards the queue has
 * @param hung answers the queues that have hung
 * @param startedAt when the tick began: ms since the epoch
 * @param until when the tick stops to begin new work
 */
export function divisionOf(
  ctx: Context,
  { shards, backlogs, hung }: { shards: number; backlogs: Backlogs; hung: () => readonly string[] },
  startedAt: number,
  until: number,
): Division | undefined {
  const { sweepers } = ctx;
  if (!sweepers || sweepers.most === 0) return undefined;
  const end = Math.min(until, startedAt + SWEEPERS_WORK_FOR);
  const at = Math.min(until, startedAt + ctx.sizes.alone);
  const aShard = Math.min(Math.max(Math.floor(sweepers.most / shards), 1), MOST_A_SHARD);
  let left = sweepers.most;
  let hasWorked = false;
  let behind: Promise<string[]> | undefined;
  const canGive = (): boolean => left > 0 && ctx.clock() < end;
  return {
    at,
    end,
    isByShard: aShard === 1,
    canGive,
    isTime: () => hasWorked && canGive() && at <= ctx.clock(),
    worked() {
      hasWorked = true;
    },
    async give(tasks) {
      const pieces = piecesOf(tasks, aShard, left);
      const given = pieces.slice(0, left);
      left -= given.length;
      behind ??= topicsBehind(backlogs, Object.keys(ctx.policy.topics));
      const known: KnownQueues = { behind: await behind, hung: hung() };
      const kept = await Promise.all(
        given.map(async (piece) => {
          if (ctx.clock() >= end) return piece.tasks;
          try {
            await sweepers.start({ ...piece.part, ...known, until: end });
            return [];
          } catch (error) {
            const what = "starting a further invocation for shards with a backlog";
            ctx.report({ type: "trouble", topic: "", what, error: messageOf(error) });
            return piece.tasks;
          }
        }),
      );
      return [...kept, ...pieces.slice(given.length).map(({ tasks: some }) => some)].flat();
    },
  };
}

/** Tasks for one invocation, and what its event says of them. */
type Piece = { readonly tasks: readonly SweepTask[]; readonly part: Pick<TickPart, "shards" | "ranges"> };

/**
 * Divides tasks into pieces. If `aShard` is more than 1, the ranges that a sweep has left become at most `aShard` pieces. The last of them is
 * the shard's audit. Each other task belongs to one piece. If there are more than `most` pieces, the last ones stay with the tick.
 */
function piecesOf(tasks: readonly SweepTask[], aShard: number, most: number): Piece[] {
  const shared: Piece[] = [];
  const whole: SweepTask[] = [];
  for (const task of tasks) {
    const { shard } = task;
    if (!task.ranges || aShard === 1) whole.push(task);
    else
      for (const ranges of [...sharesOf(task.ranges, aShard - 1), []])
        shared.push({ tasks: [{ shard, ranges }], part: { shards: [shard], ranges } });
  }
  const left = Math.max(most - shared.length, 0);
  const count = Math.min(whole.length, left + 1);
  const others = Array.from({ length: count }, (_, i): Piece => {
    const some = whole.filter((_, n) => n % count === i);
    return { tasks: some, part: { shards: some.map(({ shard }) => shard) } };
  });
  return [...shared, ...others];
}
