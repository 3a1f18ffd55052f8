import type { Home } from "../../core/home.ts";
import { toJson } from "../../core/json.ts";
import { MESSAGE_VERSION, type MessageJob, startOf } from "../../core/message.ts";
import { delaySecondsOf } from "../../core/packs.ts";
import { batchesOf } from "../../general/batches.ts";
import type { TopicNow } from "../gate/known-pauses.ts";
import { type Deferred, readHomesStartingBefore } from "../gate/park.ts";
import { startsOutsideWindow } from "../gate/start-gate.ts";
import { policyOf } from "../policy.ts";
import type { Context } from "../ports.ts";
import { fileLooksAtUnsent, type HandedOver, send } from "./send.ts";

/** New messages keep the `sentAt` of the first ones. Answers the ids that SQS took. */
export async function resend(
  ctx: Context,
  topic: string,
  group: string | undefined,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const now = ctx.clock();
  const sentAt = new Date(now).toISOString();
  const { pack, precision } = policyOf(ctx, topic);
  const limits = { count: pack, bytes: ctx.sizes.packBytes };
  const byDelay = Map.groupBy(jobs, (job) => delaySecondsOf(startOf(job), now, precision));
  const packs = [...byDelay].flatMap(([delaySeconds, mates]) =>
    batchesOf(mates, (job) => Buffer.byteLength(toJson(job)), limits).map((carried) => ({
      delaySeconds,
      carried,
    })),
  );
  const sent = await ctx.queues.send(
    { topic },
    packs.map(({ delaySeconds, carried }) => ({
      body: toJson({
        v: MESSAGE_VERSION,
        topic,
        group,
        jobs: carried.map((job): MessageJob => ({ sentAt, ...job })),
      }),
      delaySeconds,
      ...(group === undefined ? {} : { group }),
    })),
  );
  return new Set(
    packs.flatMap(({ carried }, i) => (sent[i]?.outcome === "sent" ? carried.map(({ id }) => id) : [])),
  );
}

const NONE: Deferred = { done: new Set(), unread: new Set() };

/** Gives new starts to jobs whose starts passed in a pause, or before the consumers had followed its resume: all would start at once. */
export async function resendMissedStarts(
  ctx: Context,
  { policy: { maxPerSecond, window }, isResuming, followedAt }: TopicNow,
  jobs: readonly MessageJob[],
): Promise<Deferred> {
  if (!isResuming || (maxPerSecond === undefined && window === undefined)) return NONE;
  const missed = await readHomesStartingBefore(ctx, jobs, followedAt);
  const homes = missed.homes.filter(
    (home) => home.state === "scheduled" && (maxPerSecond !== undefined || startsOutsideWindow(ctx, home)),
  );
  if (homes.length > 0) await fileLooksAtUnsent(ctx, homes, await sendWithNewStarts(ctx, homes));
  return { done: new Set(homes.map(({ id }) => id)), unread: missed.unread };
}

/** Sends waiting jobs of a topic with a limit or a window again, with new starts if theirs have passed. */
export function sendWithNewStarts(ctx: Context, homes: readonly Home[]): Promise<Map<string, HandedOver>> {
  // `spare` makes `send` note the start, so that another message of the job takes no second one.
  const again = homes.map((home) => ({ ...home, spare: true as const }));
  // The empty `known` says that this sender knows the jobs: a user's call would leave a job with a start that has passed to the start's sender.
  return send(ctx, again, {});
}
