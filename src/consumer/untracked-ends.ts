import type { Context } from "../protocol/ports.ts";
import type { Ending, Settled } from "../protocol/run/settle.ts";
import { countAskedRun, isLastRun, settleUntracked } from "../protocol/run/settle-untracked.ts";
import type { Delivery, Work } from "./open-messages.ts";

/** Calls `keep` if `record` never succeeded in time. */
type Settle = (record: () => Promise<Settled>, keep: () => void) => Promise<void>;

export type UntrackedEnds = {
  ended(work: Work, ending: Ending): void;
  /** Nothing is left to do for one job of a message. */
  isThrough(work: Pick<Work, "topic" | "delivery">): void;
  /** From now on, messages are deleted once all their jobs are through: if other runs outlast this process, Lambda deletes no message. */
  removeThrough(): void;
  idle(): Promise<void>;
};

/** A job that runs again or is dead, and whose next message is not sent yet. */
type Waiting = { readonly isDeath: boolean; readonly end: () => Promise<Settled> };

type State = {
  readonly ctx: Context;
  readonly settle: Settle;
  readonly remove: (topic: string, deliveries: readonly Delivery[]) => void;
  readonly kept: Set<string>;
  /** Jobs of messages with untracked jobs that are not through. */
  readonly open: Map<Delivery, number>;
  readonly waiting: Map<Delivery, Waiting[]>;
  /** Messages of which all jobs are through, with their topics. Lambda deletes these when the function answers. */
  readonly through: Map<Delivery, string>;
  readonly removals: Promise<void>[];
  /** Other runs may outlast this process. */
  isLast: boolean;
};

/**
 * Sends the next messages of jobs once all jobs of the old message are through, and then deletes this one at once: if this process died
 * before, SQS would deliver both, and the copies would double with each such process.
 */
export function createUntrackedEnds(
  ctx: Context,
  work: readonly Work[],
  settle: Settle,
  remove: (topic: string, deliveries: readonly Delivery[]) => void,
  kept: Set<string>,
): UntrackedEnds {
  // If the topic's tracking has changed, a message has tracked and untracked jobs. Both are counted.
  const open = new Map(
    [...Map.groupBy(work, ({ delivery }) => delivery)].flatMap(([delivery, mates]) =>
      mates.some(({ job }) => job.untracked) ? [[delivery, mates.length] as const] : [],
    ),
  );
  const none = { waiting: new Map(), through: new Map(), removals: [], isLast: false };
  const state: State = { ctx, settle, remove, kept, open, ...none };
  return {
    ended: (one, ending) => noteEnd(state, one, ending),
    isThrough: (one) => noteThrough(state, one),
    removeThrough: () => removeThrough(state),
    async idle() {
      const { removals } = state;
      for (let done = 0; done < removals.length; ) {
        done = removals.length;
        await Promise.all(removals);
      }
    },
  };
}

function noteEnd(state: State, work: Work, asked: Ending): void {
  const { topic, group, delivery } = work;
  const { ctx, settle, waiting, removals, kept } = state;
  const endedAt = ctx.clock();
  const { job, ending } = countAskedRun(ctx, topic, work.job, asked);
  const end = (): Promise<Settled> => settleUntracked(ctx, topic, group, job, ending, endedAt);
  if (ending.end === "done") removals.push(settle(end, () => kept.add(delivery.messageId)));
  else {
    const isDeath = isLastRun(ctx, topic, job, ending);
    waiting.set(delivery, [...(waiting.get(delivery) ?? []), { isDeath, end }]);
  }
  noteThrough(state, { topic, delivery });
}

function noteThrough(state: State, { topic, delivery }: Pick<Work, "topic" | "delivery">): void {
  const before = state.open.get(delivery);
  if (before === undefined) return;
  const left = before - 1;
  state.open.set(delivery, left);
  if (left === 0) state.removals.push(close(state, delivery, topic));
}

/** Sends the next messages of a message's jobs, and then deletes the message. */
async function close(state: State, delivery: Delivery, topic: string): Promise<void> {
  const { settle, remove, kept } = state;
  const ends = state.waiting.get(delivery) ?? [];
  // Dead jobs first: if the DLQ takes no message, the old one comes again, and retries sent before would be sent once more each time.
  const { deaths = [], others = [] } = Object.groupBy(ends, ({ isDeath }) => (isDeath ? "deaths" : "others"));
  for (const some of [deaths, others]) {
    if (kept.has(delivery.messageId)) return;
    await Promise.all(some.map(({ end }) => settle(end, () => kept.add(delivery.messageId))));
  }
  if (kept.has(delivery.messageId)) return;
  if (ends.length > 0 || state.isLast) remove(topic, [delivery]);
  else state.through.set(delivery, topic);
}

function removeThrough(state: State): void {
  const { through, remove } = state;
  state.isLast = true;
  for (const [topic, some] of Map.groupBy(through.keys(), (delivery) => through.get(delivery) ?? ""))
    remove(topic, some);
  through.clear();
}
