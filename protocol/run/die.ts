import { ERROR_BYTES, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import { type DeadEntry, deadKey, type Home, homeKey, ITEM_VERSION, ttl } from "../../core/items.ts";
import { deadText } from "../../core/message.ts";
import { isUnreadable, readHome } from "../../core/readable.ts";
import { truncate } from "../../general/text.ts";
import { isAsSet } from "../change/move.ts";
import type { Context, Expected } from "../ports.ts";
import { releaseKey } from "../store/keys.ts";

export type Death = {
  error: string;
  /** Beside the revision, what makes sure that nobody else has a hold on the job. */
  expect: Expected;
  settledBy?: string;
  /** `false` when its queue is what failed: there is none to put it into. */
  envelope?: false;
};

/**
 * Records a job as dead: its envelope to the DLQ, its dead entry, and last its home. In this order a crash
 * between any two leaves a job that is still alive, and all of it can be repeated.
 *
 * Answers the home, or `undefined` when somebody else was faster.
 */
export async function die(ctx: Context, home: Home, death: Death): Promise<Home | undefined> {
  const error = truncate(death.error, ERROR_BYTES);
  // rule: envelope-before-dead-home
  if (death.envelope !== false) {
    const [sent] = await ctx.queues.send({ topic: home.topic, dead: true }, [
      { body: deadText(home, error), delaySeconds: 0 },
    ]);
    if (sent?.outcome !== "sent") {
      const reason = sent?.reason ?? "no answer";
      throw new MinutehandError(
        "unavailable",
        `SQS rejected a message to the DLQ of topic ${home.topic}: ${reason}`,
      );
    }
  }
  const now = ctx.clock();
  const by = now + WRITER_DEADLINE;
  const expiresAt = ttl(now + ctx.policy.deadRetention * 1000);
  const entry: DeadEntry = {
    ...deadKey(home.topic, now, home.id),
    v: ITEM_VERSION,
    id: home.id,
    revision: home.revision,
    expiresAt,
  };
  const [filed] = await ctx.pool.insert([entry], by);
  if (filed instanceof Error) throw filed;

  const set = {
    state: "dead",
    finishedAt: now,
    lastError: error,
    expiresAt,
    ...(death.settledBy === undefined ? {} : { settledBy: death.settledBy }),
  };
  const expect = { ...death.expect, revision: home.revision };
  // rule: dead-home-comes-last
  const changed = await ctx.pool.change({ key: homeKey(home.id), expect, set }, by);
  const found = changed.item && readHome(changed.item, home.id);
  if (!found || isUnreadable(found) || !(changed.changed || isAsSet(found, set))) return undefined;
  await releaseKey(ctx, found, expiresAt, by);
  const { topic, id, attempt } = home;
  ctx.report({ type: "dead", topic, id, attempt, error, hasLetter: death.envelope !== false });
  return found;
}
