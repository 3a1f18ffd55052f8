import { ABORT_BEFORE, CLOCK_MARGIN, HOLD, LAST_START } from "../core/constants.ts";
import { messageOf } from "../core/errors.ts";
import { type Message, type MessageJob, parseMessage } from "../core/message.ts";
import { claim } from "../protocol/claim.ts";
import type { Context } from "../protocol/ports.ts";
import { redriveEnvelope } from "../protocol/redrive-envelope.ts";
import { policyOf } from "../protocol/send.ts";
import type { Ending, Held } from "../protocol/settle.ts";
import { resend, settleUntracked } from "./resend.ts";
import { createSettler } from "./settler.ts";

/** A message as SQS delivered it. */
export type Delivery = { messageId: string; handle: string; body: string };

/** Runs one job and says how it ended; never throws. */
export type RunJob = (job: MessageJob, topic: string, signal: AbortSignal) => Promise<Ending>;

/** Timers, so that a simulation can pass its own. */
export type Timers = {
  wait: (ms: number) => Promise<void>;
  /** Calls back after `ms`; what it answers cancels that. */
  after: (ms: number, act: () => void) => () => void;
};

type Work = { job: MessageJob; topic: string; delivery: Delivery };

/**
 * Runs the jobs of an invocation's messages: holds each until it is due, claims as many as there are free
 * slots in one call, and settles in batches meanwhile. `deadline`: when the runtime kills this process, ms
 * since the epoch; the leases end then.
 *
 * Answers the ids of the messages that SQS must keep.
 */
export async function runJobs(
  ctx: Context,
  deliveries: readonly Delivery[],
  run: RunJob,
  deadline: number,
  timers: Timers,
): Promise<Set<string>> {
  const kept = new Set<string>();
  const work = await open(ctx, deliveries, kept);
  const span = deadline - ctx.clock();
  const lastStart = deadline - Math.min(LAST_START, span / 4);
  const abort = new AbortController();
  const cancelAbort = timers.after(deadline - Math.min(ABORT_BEFORE, span / 8) - ctx.clock(), () =>
    abort.abort(new Error("the function is about to time out")),
  );
  let cancelLastCall = (): void => {};
  const lastCall = new Promise<void>((resolve) => {
    cancelLastCall = timers.after(lastStart - ctx.clock(), resolve);
  });
  const settler = createSettler(ctx, deadline, timers.wait);
  const running = new Set<Promise<void>>();

  const start = ({ job, topic, delivery }: Work, held: Held | undefined): void => {
    const dueAt = Date.parse(job.dueAt);
    ctx.report({
      type: "started",
      topic,
      id: job.id,
      attempt: job.attempt,
      dueAt,
      lateMs: ctx.clock() - dueAt,
    });
    const end = (async () => {
      const ending = await run(job, topic, abort.signal);
      // Not waited for: the slot is free when the handler has ended.
      settler.settle(
        () => (held ? settler.record(held, ending) : settleUntracked(ctx, topic, job, ending)),
        () => kept.add(delivery.messageId),
      );
    })();
    const slot = end.finally(() => running.delete(slot));
    running.add(slot);
  };

  for (let next = 0; next < work.length; ) {
    const head = work[next] as Work;
    const { concurrency, tracking } = policyOf(ctx, head.topic);
    if (ctx.clock() >= lastStart) {
      await giveBack(ctx, work.slice(next), kept);
      break;
    }
    if (running.size >= concurrency) {
      await Promise.race([...running, lastCall]);
      continue;
    }
    const early = Date.parse(head.job.dueAt) - ctx.clock();
    if (early > 0) {
      await Promise.race([timers.wait(early), lastCall]);
      continue;
    }
    const free = concurrency - running.size;
    const batch = work
      .slice(next, next + free)
      .filter(({ job, topic }) => topic === head.topic && Date.parse(job.dueAt) <= ctx.clock());
    next += batch.length;
    if (tracking === "none") for (const one of batch) start(one, undefined);
    else await claimAndStart(ctx, batch, deadline, start, kept);
  }
  await Promise.all(running);
  await settler.idle();
  cancelAbort();
  cancelLastCall();
  return kept;
}

/** The jobs in these messages, by due time, each once. What cannot be run now is dealt with. */
async function open(ctx: Context, deliveries: readonly Delivery[], kept: Set<string>): Promise<Work[]> {
  const work = new Map<string, Work>();
  const hide = new Map<string, { handle: string; seconds: number }[]>();
  for (const delivery of deliveries) {
    const message = parseMessage(delivery.body);
    if (!message) {
      // None of ours, or of a layout to come: maxReceiveCount takes it to the DLQ, where people look.
      ctx.report({
        type: "trouble",
        topic: "",
        what: "reading a message",
        error: `message ${delivery.messageId} is none of ours`,
      });
      kept.add(delivery.messageId);
    } else if (message.dead) await redriveEnvelope(ctx, message);
    else {
      const early = earliest(message) - ctx.clock();
      if (early >= HOLD) {
        const seconds = Math.ceil(early / 1000);
        hide.set(message.topic, [...(hide.get(message.topic) ?? []), { handle: delivery.handle, seconds }]);
        kept.add(delivery.messageId);
      } else {
        for (const job of message.jobs) {
          // The newest message of a job says all: an older one, or a duplicate, is void.
          const known = work.get(job.id);
          if (!known || known.job.revision < job.revision) {
            work.set(job.id, { job, topic: message.topic, delivery });
          }
        }
      }
    }
  }
  for (const [topic, messages] of hide) await ctx.queues.hide({ topic }, messages);
  return [...work.values()].sort((a, b) => Date.parse(a.job.dueAt) - Date.parse(b.job.dueAt));
}

function earliest(message: Message): number {
  return Math.min(...message.jobs.map((job) => Date.parse(job.dueAt)));
}

async function claimAndStart(
  ctx: Context,
  batch: readonly Work[],
  leaseEnd: number,
  start: (work: Work, held: Held) => void,
  kept: Set<string>,
): Promise<void> {
  const topic = batch[0]?.topic ?? "";
  const verdicts = await claim(
    ctx,
    topic,
    batch.map(({ job }) => job),
    leaseEnd,
  );
  const left: { handle: string; seconds: number }[] = [];
  for (const [i, one] of batch.entries()) {
    const verdict = verdicts[i];
    const { id, attempt, key } = one.job;
    if (verdict?.verdict === "claimed") {
      start(one, { id, topic, attempt, token: verdict.token, ...(key === undefined ? {} : { key }) });
    } else if (verdict?.verdict === "left") {
      kept.add(one.delivery.messageId);
      const ms = verdict.until + CLOCK_MARGIN - ctx.clock();
      left.push({ handle: one.delivery.handle, seconds: Math.max(Math.ceil(ms / 1000), 1) });
    }
  }
  if (left.length === 0) return;
  try {
    await ctx.queues.hide({ topic }, left);
  } catch (error) {
    // Its own visibility timeout brings it back all the same, only later.
    ctx.report({ type: "trouble", topic, what: "hiding a message", error: messageOf(error) });
  }
}

/** What cannot be started before the deadline goes out in new messages, and the old ones may go. */
async function giveBack(ctx: Context, work: readonly Work[], kept: Set<string>): Promise<void> {
  for (const [topic, left] of Map.groupBy(work, (one) => one.topic)) {
    const sent = await resend(
      ctx,
      topic,
      left.map(({ job }) => job),
      0,
    );
    if (!sent) for (const { delivery } of left) kept.add(delivery.messageId);
  }
}
