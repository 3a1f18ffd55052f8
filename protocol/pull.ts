import {
  CLOCK_MARGIN,
  HOLD,
  LONGEST_LEASE,
  PAUSE_KNOWN_FOR,
  VISIBILITY_MARGIN,
  WRITER_DEADLINE,
} from "../core/constants.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { isRunning } from "../core/home.ts";
import { type Home, homeKey } from "../core/items.ts";
import {
  type MessageJob,
  newerMessage,
  newestOf,
  parseMessage,
  startOf,
  unreadableSeconds,
} from "../core/message.ts";
import { hideSecondsOf } from "../core/packs.ts";
import { decodeReceipt, encodeReceipt, type Receipt } from "../core/receipt.ts";
import { claim } from "./claim.ts";
import { startedEvent } from "./events.ts";
import { isPaused } from "./known-pauses.ts";
import { openingOf } from "./limit.ts";
import type { Context, Received } from "./ports.ts";
import { notFound, readJob } from "./read-job.ts";
import { redriveEnvelope } from "./redrive-envelope.ts";
import { claimLost, type Ending, type Held, settleDone, settleOtherwise } from "./settle.ts";
import { requireTopic } from "./topics.ts";

/** ms that whoever does not wait, too, goes past void messages: what is due may lie behind them. */
const PAST_VOID = 1000;

/** A job handed to a caller, to be settled by its receipt before `leaseUntil` (ms). */
export type Pulled = {
  id: string;
  receipt: string;
  attempt: number;
  dueAt: number;
  body: unknown;
  headers?: Record<string, string>;
  leaseUntil: number;
};

/**
 * Takes up to `max` (1 to 10) due jobs of a pull topic, waiting up to `waitSeconds` (0 to 20) for the first, and past void
 * messages a second at least; none of a paused one.
 * Throws `unknown-topic`, `not-a-pull-topic`, `unavailable`. `wait` resolves after so many ms.
 */
export async function receive(
  ctx: Context,
  topic: string,
  options: { max: number; waitSeconds: number },
  wait: (ms: number) => Promise<void>,
): Promise<Pulled[]> {
  const policy = requireTopic(ctx, topic);
  if (policy.consumer !== "pull") throw notPull(topic);
  const ttr = policy.ttr * 1000;
  const started = ctx.clock();
  const patience = Math.max(options.waitSeconds * 1000, PAST_VOID);
  for (;;) {
    const waited = (ctx.clock() - started) / 1000;
    const waitSeconds = Math.max(Math.floor(options.waitSeconds - waited), 0);
    if (await isPaused(ctx, topic)) {
      if (waitSeconds === 0) return [];
      // It may be resumed meanwhile.
      await wait(Math.min(waitSeconds * 1000, PAUSE_KNOWN_FOR));
      continue;
    }
    const hideSeconds = hideSecondsOf(ttr + VISIBILITY_MARGIN);
    const messages = await ctx.queues.receive({ topic }, { max: options.max, waitSeconds, hideSeconds });
    if (policy.tracking === "none" && messages.length > 0 && (await isPaused(ctx, topic))) {
      // Paused while this waited. Of tracked ones each claim asks.
      await ctx.queues.hide(
        { topic },
        messages.map(({ handle }) => ({ handle, seconds: 0 })),
      );
      return [];
    }
    const pulled = await take(ctx, topic, policy.tracking === "none", messages, ttr, wait);
    // Only void messages came: that was no answer yet.
    if (pulled.length > 0 || messages.length === 0 || ctx.clock() - started >= patience) {
      return pulled;
    }
  }
}

const EXTEND_TRIES = 5;

type Carried = { message: Received; job: MessageJob };

async function take(
  ctx: Context,
  topic: string,
  untracked: boolean,
  messages: readonly Received[],
  ttr: number,
  wait: (ms: number) => Promise<void>,
): Promise<Pulled[]> {
  const drop: string[] = [];
  const hide: { handle: string; seconds: number }[] = [];
  const due: Carried[] = [];
  for (const message of messages) {
    const parsed = parseMessage(message.body);
    if (!parsed) {
      // What is not ours stays till maxReceiveCount ends it, and a newer version's for long enough to outlive a rollback.
      const newer = newerMessage(message.body);
      if (!newer) continue;
      ctx.report({ type: "trouble", topic, what: "reading a message", error: newer.error });
      hide.push({ handle: message.handle, seconds: unreadableSeconds(message.receives) });
      continue;
    }
    if (parsed.dead) {
      if (await redriveEnvelope(ctx, parsed)) drop.push(message.handle);
      continue;
    }
    const [job] = parsed.jobs;
    const early = job ? startOf(job) - ctx.clock() : 0;
    const expired = untracked && job?.expiresAt !== undefined && ctx.clock() > Date.parse(job.expiresAt);
    if (!job || expired) drop.push(message.handle);
    else if (early >= HOLD) hide.push({ handle: message.handle, seconds: hideSecondsOf(early) });
    else due.push({ message, job });
  }
  const latest = Math.max(0, ...due.map(({ job }) => startOf(job)));
  if (latest > ctx.clock()) await wait(latest - ctx.clock());

  const pulled: Pulled[] = [];
  // The lease begins before the claim: a slow claim must not outlast it unseen.
  const leaseEnd = ctx.clock() + ttr;
  const unique = newestOf(due);
  for (const carried of due) if (!unique.includes(carried)) drop.push(carried.message.handle);
  if (untracked) {
    pulled.push(...unique.map(({ message, job }) => pulledOf(job, message, leaseEnd, { topic })));
  } else {
    const verdicts = await claim(
      ctx,
      topic,
      unique.map(({ job }) => job),
      leaseEnd,
    );
    for (const [i, { message, job }] of unique.entries()) {
      const verdict = verdicts[i];
      if (verdict?.verdict === "claimed")
        pulled.push(pulledOf(job, message, leaseEnd, { token: verdict.token }));
      else if (verdict?.verdict === "left") {
        const left = verdict.until + CLOCK_MARGIN - ctx.clock();
        hide.push({ handle: message.handle, seconds: hideSecondsOf(left) });
      } else drop.push(message.handle);
    }
  }
  try {
    await ctx.queues.remove({ topic }, drop);
    await ctx.queues.hide({ topic }, hide);
  } catch (error) {
    // What was claimed must be handed out all the same; these messages come again, and are void then too.
    ctx.report({ type: "trouble", topic, what: "putting messages away", error: messageOf(error) });
  }
  // Nobody starts past the lease, which the claim and putting the others away may have taken: such a claim is left to
  // whoever settles it as a crash.
  const live = pulled.filter(({ leaseUntil }) => untracked || ctx.clock() < leaseUntil);
  const started = new Set(live.map(({ id }) => id));
  for (const { job } of unique) if (started.has(job.id)) ctx.report(startedEvent(topic, job, ctx.clock()));
  return live;
}

function pulledOf(
  job: MessageJob,
  { handle }: Received,
  leaseUntil: number,
  bound: { token: string } | { topic: string },
): Pulled {
  const { id, revision, attempt, body, headers } = job;
  const receipt = { v: 1, id, revision, attempt, handle, ...bound } as const;
  return {
    id,
    receipt: encodeReceipt(receipt),
    attempt,
    dueAt: Date.parse(job.dueAt),
    body,
    ...(headers ? { headers } : {}),
    leaseUntil,
  };
}

/** A receipt that has passed its topic's door. */
type Shown = { receipt: Receipt; held: Held | undefined };

function show(ctx: Context, topic: string, text: string): Shown {
  const policy = requireTopic(ctx, topic);
  if (policy.consumer !== "pull") throw notPull(topic);
  const receipt = decodeReceipt(text);
  if (!receipt) throw new MinutehandError("bad-request", "receipt must be one that `receive` answered with");
  const { id, attempt, token } = receipt;
  if (policy.tracking === "none") {
    // SQS would pass over a handle of another queue in silence. A receipt of before this check names no topic.
    if (token !== undefined || (receipt.topic ?? topic) !== topic) throw claimLost(id);
    return { receipt, held: undefined };
  }
  if (token === undefined) throw claimLost(id);
  return { receipt, held: { id, topic, token, attempt } };
}

/**
 * Ends a pulled job's run: done, failed or buried. The same call with the same receipt again answers the
 * same; `undefined` for an untracked job, of which nothing is stored. Throws `claim-lost`, `bad-request`,
 * `untracked-topic`, `unavailable`.
 */
export async function settlePulled(
  ctx: Context,
  topic: string,
  text: string,
  ending: Exclude<Ending, { end: "retry-in" }>,
): Promise<Home | undefined> {
  const { receipt, held } = show(ctx, topic, text);
  if (!held) {
    await settleUntracked(ctx, topic, receipt, ending);
    return undefined;
  }
  const before = await readJob(ctx, held.id);
  if (before.topic !== topic) throw notFound(held.id);
  if (ending.end === "done") {
    const run = before.key === undefined ? held : { ...held, key: before.key };
    const [settled] = await settleDone(ctx, [run], ctx.clock() + WRITER_DEADLINE);
    if (settled instanceof Error) throw settled;
    if (settled !== "settled") throw claimLost(held.id);
  } else if ((await settleOtherwise(ctx, held, ending)) === "lost") throw claimLost(held.id);
  await ctx.queues.remove({ topic }, [receipt.handle]);
  return readJob(ctx, held.id);
}

async function settleUntracked(
  ctx: Context,
  topic: string,
  receipt: Receipt,
  ending: Exclude<Ending, { end: "retry-in" }>,
): Promise<void> {
  if (ending.end === "buried") {
    throw new MinutehandError("untracked-topic", `a job of the untracked topic ${topic} cannot be buried`);
  }
  if (ending.end === "done") await ctx.queues.remove({ topic }, [receipt.handle]);
  else {
    const now = ctx.clock();
    const again = openingOf(ctx, topic, now + (ending.retryAfter ?? 0));
    await ctx.queues.hide({ topic }, [{ handle: receipt.handle, seconds: hideSecondsOf(again - now) }]);
  }
}

/**
 * Prolongs a pulled job's lease to `ms` from now, 12 h from its claim at most: the lease first, then the
 * message. Answers the job and the lease's end. Throws as `settlePulled`.
 */
export async function extend(
  ctx: Context,
  topic: string,
  text: string,
  ms: number,
): Promise<{ home: Home | undefined; leaseUntil: number }> {
  const { receipt, held } = show(ctx, topic, text);
  const hide = { handle: receipt.handle, seconds: hideSecondsOf(ms + VISIBILITY_MARGIN) };
  if (!held) {
    await ctx.queues.hide({ topic }, [hide]);
    return { home: undefined, leaseUntil: ctx.clock() + ms };
  }
  for (let i = 0; i < EXTEND_TRIES; i++) {
    const home = await readJob(ctx, held.id);
    const now = ctx.clock();
    if (home.topic !== topic) throw notFound(held.id);
    if (home.token !== held.token || !isRunning(home, now)) throw claimLost(held.id);
    const leaseEnd = Math.min(now + ms, (home.claimedAt ?? now) + LONGEST_LEASE);
    const expect = { token: held.token, state: "running", leaseEnd: home.leaseEnd };
    const key = homeKey(held.id);
    const changed = await ctx.pool.change({ key, expect, set: { leaseEnd } }, now + WRITER_DEADLINE);
    if (!changed.changed) continue;
    await ctx.queues.hide({ topic }, [hide]);
    return { home: changed.item as Home, leaseUntil: leaseEnd };
  }
  throw new MinutehandError("unavailable", `job ${held.id} keeps changing; repeat the call`);
}

function notPull(topic: string): MinutehandError {
  return new MinutehandError(
    "not-a-pull-topic",
    `topic ${topic} has a consumer of its own: its jobs cannot be pulled`,
  );
}
