import { AUDIT_AFTER, BUCKET, READY_RETENTION, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf, type Pause, pauseKey, ttl } from "../../core/items.ts";
import { beforeTime, END } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import { listPaused, pausedTopics, pollQueue } from "../change/pause.ts";
import { readPauses, readPausesApart } from "../gate/known-pauses.ts";
import { limitedTopics, listLimited } from "../gate/limited-topics.ts";
import { countParked } from "../gate/park.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import { shardsToRead } from "../store/shards.ts";
import { release } from "./release.ts";

/** Topics at once: a release holds some dozen homes, each of which may be as large as any. */
const WIDTH = 2;
/** How long one topic's jobs are let go while others' wait: ms. */
const TURN = 5_000;
/**
 * How long a tick lets jobs go: until shortly before the next one comes. Two releases of one topic would meet the same notes,
 * and both send what the other has just given a start.
 */
const RELEASE_FOR = BUCKET - 5_000;
/** Topics at once whose queues Lambda is told of: it may hang. */
const POLLS = 4;
/** Minutes between two wishes for a queue, while a pause or a resume lasts. */
const POLL_EVERY = 10;

/** A topic some of whose jobs may be parked. `pause`: its own, if it is not over. */
type ReleasableTopic = { readonly topic: string; readonly pause: Pause | undefined };

/**
 * The tick's part: lets go the next minute's share of what is parked, for limits and for resumes, and repeats to Lambda
 * what was last wished of a topic's queue for as long as an earlier wish may still be on its way. Neither waits for the other.
 */
export async function carryOutPauses(ctx: Context, until: number): Promise<void> {
  const releaseUntil = Math.min(until, ctx.clock() + RELEASE_FOR);
  const inPolicy = Object.keys(ctx.policy.topics);
  const [limited, paused] = await Promise.all([
    limitedTopics(ctx).catch((error: unknown) => {
      trouble(ctx, "", "reading which topics have limits", error);
      return new Set(inPolicy.filter((topic) => isLimited(ctx, topic)));
    }),
    pausedTopics(ctx).catch((error: unknown): string[] => {
      trouble(ctx, "", "reading which topics are paused", error);
      return [];
    }),
  ]);
  // The policy knows neither a topic that a deploy has removed, nor a limit that a deploy has removed.
  const topics = [...new Set([...inPolicy, ...limited, ...paused])];
  const pauses = await readPausesApart(ctx, topics);
  const sick = new Set<string>();
  const held = topics.flatMap((topic, i): ReleasableTopic[] => {
    const pause = pauses[i];
    if (!(pause instanceof Error)) return [{ topic, pause }];
    trouble(ctx, topic, "reading a pause", pause);
    return [];
  });
  const guarded = async (topic: string, work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      // One topic's trouble is its own, and the next tick comes in a minute.
      trouble(ctx, topic, "releasing parked jobs", error);
    }
  };
  // rule: limited-topics-are-released
  const isReleased = ({ topic, pause }: ReleasableTopic): boolean =>
    pause ? pause.state === "resuming" : limited.has(topic);
  await Promise.all([
    inParallel(held, POLLS, async ({ topic, pause }) => {
      if (!pause || ctx.clock() >= until) return;
      // The version before this one listed none.
      if (!paused.includes(topic))
        await guarded(topic, listPaused(ctx, topic, ctx.clock() + WRITER_DEADLINE));
      await guarded(topic, carryOut(ctx, topic, pause));
    }),
    inTurns(ctx, held.filter(isReleased), releaseUntil, ({ topic, pause }, end) =>
      guarded(topic, release(ctx, topic, pause, end, sick)),
    ),
  ]);
}

/**
 * Works for each of these topics, a few at a time. What a turn was too short for comes again behind the others, by its
 * topic's pause as it stands then. Each tick begins with other topics, so that none is always the one for which no time is left.
 * A topic's place moves back from tick to tick: between two of its turns lies little more than a minute, or the starts that the
 * first has given would be over before the second.
 */
async function inTurns(
  ctx: Context,
  held: readonly ReleasableTopic[],
  until: number,
  work: (one: ReleasableTopic, end: number) => Promise<void>,
): Promise<void> {
  const last = ((minuteOf(ctx.clock()) / BUCKET) * WIDTH) % Math.max(held.length, 1);
  const waiting = [...held.slice(held.length - last), ...held.slice(0, held.length - last)];
  await inParallel(held.slice(0, WIDTH), WIDTH, async () => {
    for (let next = waiting.shift(); next && ctx.clock() < until; next = waiting.shift()) {
      const { topic } = next;
      const end = Math.min(ctx.clock() + TURN, until);
      await work(next, end);
      if (ctx.clock() >= end) waiting.push({ topic, pause: (await readPauses(ctx, [topic]))[0] });
    }
  });
}

function trouble(ctx: Context, topic: string, what: string, error: unknown): void {
  ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
}

async function carryOut(ctx: Context, topic: string, pause: Pause): Promise<void> {
  const { state, changedAt, rate } = pause;
  const isRecent = ctx.clock() - changedAt < AUDIT_AFTER;
  // Now and then later too: a deploy may have made a mapping, or Lambda refused each wish while a resume goes on for days.
  const isTurn = (minuteOf(ctx.clock()) / BUCKET) % POLL_EVERY === 0;
  if (isRecent || isTurn) await pollQueue(ctx, topic, state === "resuming");
  if (state === "paused") return;
  // What was due later waits for the topic's limit from now on.
  const hasLimit = isLimited(ctx, topic);
  if (isRecent) return;
  // As it is: a resume that ended too soon would leave jobs parked.
  const shards = await shardsToRead(ctx);
  if ((await countParked(ctx, topic, shards, hasLimit ? beforeTime(changedAt + 1) : END)) > 0) return;
  // First, or no tick would look for what is left when the pause is over.
  if (hasLimit && (await countParked(ctx, topic, shards)) > 0)
    await listLimited(ctx, topic, ctx.clock() + WRITER_DEADLINE);
  // rule: resume-ends-once-lambda-polls
  // Lambda may have refused each wish so far, or no tick was there to repeat it.
  if (!(await pollQueue(ctx, topic, true))) return;
  const now = ctx.clock();
  const lifted = { key: pauseKey(topic), expect: { state, changedAt, rate } };
  // rule: rate-ends-before-its-resume
  const change =
    rate === undefined
      ? // Whoever read the pause before it was lifted has written its note by now, or never will. As long as a message may
        // have lain in the queue meanwhile, it says that this was no lateness.
        { ...lifted, set: { expiresAt: ttl(now + READY_RETENTION) } }
      : // As long as there is a rate, jobs of before are parked: it goes first, and what is noted meanwhile is let go.
        { ...lifted, set: { changedAt: now }, remove: ["rate"] };
  await ctx.pool.change(change, now + WRITER_DEADLINE);
}
