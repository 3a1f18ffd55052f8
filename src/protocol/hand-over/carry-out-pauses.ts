import { AUDIT_AFTER, BUCKET, READY_RETENTION, WRITER_DEADLINE } from "../../core/constants.ts";
import { messageOf } from "../../core/errors.ts";
import { minuteOf, pauseKey, ttl } from "../../core/item-keys.ts";
import type { Pause } from "../../core/items.ts";
import { beforeTime, END } from "../../core/position.ts";
import { inParallel } from "../../general/batches.ts";
import { listPaused, pausedTopics, setQueuePolling } from "../change/pause.ts";
import { readPausesApart } from "../gate/known-pauses.ts";
import { limitedTopics, listLimited } from "../gate/limited-topics.ts";
import { countParked } from "../gate/park.ts";
import { isLimited } from "../policy.ts";
import type { Context } from "../ports.ts";
import type { Read } from "../store/read-apart.ts";
import { shardsToRead } from "../store/shards.ts";
import { release } from "./release.ts";

/** A release holds about 32 homes in memory, each perhaps of the largest size. */
const RELEASED_AT_ONCE = 2;
/** How long one topic's jobs are released before the next topic's turn: ms. */
const TURN = 5_000;
/** A release ends shortly before the next tick: two releases of a topic would give each job two starts. */
const RELEASE_FOR = BUCKET - 5_000;
/** A call to Lambda may hang. */
const TOLD_AT_ONCE = 4;
/** After how many minutes Lambda is told again, while a pause or a resume lasts. */
const TELL_EVERY = 10;

type ReleasableTopic = {
  readonly topic: string;
  /** `undefined` if there is none, or if it is over. */
  readonly pause: Pause | undefined;
};

/**
 * Releases the next minute's share of parked jobs. Tells Lambda again whether to poll the queues of paused and resumed topics: an earlier call
 * may take effect late, and Lambda may have refused one. `until`: ms on the context's clock after which nothing new is begun.
 */
export async function carryOutPauses(ctx: Context, until: number): Promise<void> {
  const releaseUntil = Math.min(until, ctx.clock() + RELEASE_FOR);
  const { limited, paused } = await listedOf(ctx);
  // A deploy may have removed a topic, or its limit, while jobs were parked.
  const topics = [...new Set([...Object.keys(ctx.policy.topics), ...limited, ...paused])];
  const reads = await readPausesApart(ctx, topics);
  const sick = new Set<string>();
  const readTopics = topics.flatMap((topic, i) => releasable(ctx, topic, reads[i] as Read<Pause>));
  const guarded = async (topic: string, work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      trouble(ctx, topic, "releasing parked jobs", error);
    }
  };
  // rule: limited-topics-are-released
  const isReleased = ({ topic, pause }: ReleasableTopic): boolean =>
    pause ? pause.state === "resuming" : limited.has(topic);
  await Promise.all([
    inParallel(readTopics, TOLD_AT_ONCE, async ({ topic, pause }) => {
      if (!pause || ctx.clock() >= until) return;
      // An earlier version of the code did not list paused topics.
      if (!paused.includes(topic))
        await guarded(topic, listPaused(ctx, topic, ctx.clock() + WRITER_DEADLINE));
      await guarded(topic, carryOut(ctx, topic, pause));
    }),
    inTurns(ctx, readTopics.filter(isReleased), releaseUntil, ({ topic, pause }, end) =>
      guarded(topic, release(ctx, topic, pause, end, sick)),
    ),
  ]);
}

/** A list that cannot be read is replaced by what the policy says. */
async function listedOf(ctx: Context): Promise<{ limited: ReadonlySet<string>; paused: readonly string[] }> {
  const [limited, paused] = await Promise.all([
    limitedTopics(ctx).catch((error: unknown) => {
      trouble(ctx, "", "reading which topics have limits", error);
      return new Set(Object.keys(ctx.policy.topics).filter((topic) => isLimited(ctx, topic)));
    }),
    pausedTopics(ctx).catch((error: unknown): string[] => {
      trouble(ctx, "", "reading which topics are paused", error);
      return [];
    }),
  ]);
  return { limited, paused };
}

/**
 * Gives topics turns, two at once, and another one after all others if a turn was too short. Each tick begins with other topics. A topic's
 * place moves back by two only, so that its next turn comes before the starts of the last one have passed.
 */
async function inTurns(
  ctx: Context,
  topics: readonly ReleasableTopic[],
  until: number,
  work: (one: ReleasableTopic, end: number) => Promise<void>,
): Promise<void> {
  const toFront = ((minuteOf(ctx.clock()) / BUCKET) * RELEASED_AT_ONCE) % Math.max(topics.length, 1);
  const waiting = [...topics.slice(topics.length - toFront), ...topics.slice(0, topics.length - toFront)];
  await inParallel(topics.slice(0, RELEASED_AT_ONCE), RELEASED_AT_ONCE, async () => {
    for (let next = waiting.shift(); next && ctx.clock() < until; next = waiting.shift()) {
      const { topic } = next;
      const end = Math.min(ctx.clock() + TURN, until);
      await work(next, end);
      if (ctx.clock() < end) continue;
      // If the pause cannot be read, the topic waits for the next tick.
      const [read] = (await readPausesApart(ctx, [topic])) as [Read<Pause>];
      waiting.push(...releasable(ctx, topic, read));
    }
  });
}

/** Reports a failed read. */
function releasable(ctx: Context, topic: string, read: Read<Pause>): ReleasableTopic[] {
  if (read.is !== "unknown") return [{ topic, pause: read.is === "found" ? read.value : undefined }];
  trouble(ctx, topic, "reading a pause", read.error);
  return [];
}

function trouble(ctx: Context, topic: string, what: string, error: unknown): void {
  ctx.report({ type: "trouble", topic, what, error: messageOf(error) });
}

async function carryOut(ctx: Context, topic: string, pause: Pause): Promise<void> {
  const { state, changedAt, rate } = pause;
  const isRecent = ctx.clock() - changedAt < AUDIT_AFTER;
  // Meanwhile a deploy may make a new mapping, and Lambda may refuse each call.
  const isTimeToTell = (minuteOf(ctx.clock()) / BUCKET) % TELL_EVERY === 0;
  if (isRecent || isTimeToTell) await setQueuePolling(ctx, topic, state === "resuming");
  if (state === "paused") return;
  // The others wait for the limit alone, and the resume ends without them.
  const hasLimit = isLimited(ctx, topic);
  if (isRecent) return;
  // Throws if the number cannot be read: too small, the resume might end while jobs are parked.
  const shards = await shardsToRead(ctx);
  if ((await countParked(ctx, topic, shards, hasLimit ? beforeTime(changedAt + 1) : END)) > 0) return;
  // The listing comes first, because ticks look for the parked jobs of listed topics only.
  if (hasLimit && (await countParked(ctx, topic, shards)) > 0)
    await listLimited(ctx, topic, ctx.clock() + WRITER_DEADLINE);
  // rule: resume-ends-once-lambda-polls
  // The resume ends after this call, and no later tick would repeat it.
  if (!(await setQueuePolling(ctx, topic, true))) return;
  const now = ctx.clock();
  const lifted = { key: pauseKey(topic), expect: { state, changedAt, rate } };
  const change =
    rate === undefined
      ? // A process that read the pause before its last change has written its notes by now, or never will. The item stays for as long as
        // SQS can keep a message from the pause: its job is late only since `followedAt`.
        { ...lifted, set: { expiresAt: ttl(now + READY_RETENTION) } }
      : // As long as there is a rate, jobs that were due before the resume are parked. So the rate ends first, and the resume ten minutes later.
        { ...lifted, set: { changedAt: now }, remove: ["rate"] };
  await ctx.pool.change(change, now + WRITER_DEADLINE);
}
