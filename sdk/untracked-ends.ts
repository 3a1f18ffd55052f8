import type { Context } from "../protocol/ports.ts";
import type { Ending, Settled } from "../protocol/settle.ts";
import { type Delivery, deleteMessages, type Work } from "./open-messages.ts";
import { settleUntracked } from "./settle-untracked.ts";

/** Repeats `record` until it works; `keep` is told when it never did. */
type Settle = (record: () => Promise<Settled>, keep: () => void) => Promise<void>;

/**
 * Ends the runs of untracked jobs, message by message. What is to run again, or is dead, goes out in messages of its own: not
 * before all jobs of the old message are through, and then the old one is deleted at once. If this process were killed between,
 * SQS would bring the old message again beside those new ones, and they would double with each such process.
 */
export function createUntrackedEnds(
  ctx: Context,
  work: readonly Work[],
  settle: Settle,
  kept: Set<string>,
): UntrackedEnds {
  const untracked = work.filter(({ job }) => job.untracked);
  const open = new Map(
    [...Map.groupBy(untracked, ({ delivery }) => delivery)].map(([one, { length }]) => [one, length]),
  );
  // Their claims say what becomes of these messages.
  const shared = new Set(work.filter(({ job }) => !job.untracked).map(({ delivery }) => delivery));
  const waiting = new Map<Delivery, (() => Promise<Settled>)[]>();
  const through = new Map<Delivery, string>();
  const removals: Promise<void>[] = [];
  let isLast = false;

  async function close(delivery: Delivery, topic: string): Promise<void> {
    const ends = waiting.get(delivery) ?? [];
    await Promise.all(ends.map((end) => settle(end, () => kept.add(delivery.messageId))));
    if (shared.has(delivery) || kept.has(delivery.messageId)) return;
    if (ends.length > 0 || isLast) await deleteMessages(ctx, topic, [delivery]);
    else through.set(delivery, topic);
  }

  const ends: UntrackedEnds = {
    ended({ job, topic, group, delivery }, ending) {
      const endedAt = ctx.clock();
      const end = (): Promise<Settled> => settleUntracked(ctx, topic, group, job, ending, endedAt);
      if (ending.end === "done") removals.push(settle(end, () => kept.add(delivery.messageId)));
      else waiting.set(delivery, [...(waiting.get(delivery) ?? []), end]);
      ends.isThrough({ topic, delivery });
    },
    isThrough({ topic, delivery }) {
      const left = (open.get(delivery) ?? 0) - 1;
      open.set(delivery, left);
      if (left === 0) removals.push(close(delivery, topic));
    },
    removeThrough() {
      isLast = true;
      for (const [topic, some] of Map.groupBy(through.keys(), (delivery) => through.get(delivery) ?? ""))
        removals.push(deleteMessages(ctx, topic, some));
      through.clear();
    },
    async idle() {
      for (let done = 0; done < removals.length; ) {
        done = removals.length;
        await Promise.all(removals);
      }
    },
  };
  return ends;
}

export type UntrackedEnds = {
  /** A job's run has ended. */
  ended(work: Work, ending: Ending): void;
  /** Nothing is left to do for one of a message's untracked jobs here. */
  isThrough(work: Pick<Work, "topic" | "delivery">): void;
  /**
   * Deletes the messages all of whose jobs are through, and from now on each as soon as that is so. Other runs may outlast this
   * process, which then never says what to delete, and what is done would run again.
   */
  removeThrough(): void;
  /** Resolves when all of that is done. */
  idle(): Promise<void>;
};
