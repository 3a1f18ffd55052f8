import { ERROR_BYTES, WRITER_DEADLINE } from "../../core/constants.ts";
import { MinutehandError } from "../../core/errors.ts";
import type { Home } from "../../core/home.ts";
import { deadKey, ttl } from "../../core/item-keys.ts";
import { type DeadEntry, ITEM_VERSION } from "../../core/items.ts";
import { deadText } from "../../core/message.ts";
import { isUnreadable, readHome } from "../../core/readable.ts";
import { changeOf } from "../../core/states.ts";
import { truncate } from "../../general/text.ts";
import { hasAttributes } from "../change/move.ts";
import type { Context } from "../ports.ts";
import { releaseKey } from "../store/keys.ts";

export type Death = {
  error: string;
  /** Further attributes of the home that must be as they were read. */
  also?: readonly (keyof Home)[];
  settledBy?: string;
};

/**
 * Records a job as dead: sends its letter, files its dead entry, and writes its home last. So a crash leaves a live job, and all steps can be
 * repeated. There is no letter if SQS refuses its text, or has refused the job's message: docs/internals/decisions/dead-letters.md.
 * @returns `undefined` if the home was no longer as expected
 * @throws `unavailable` if the DLQ takes no messages, or DynamoDB does not answer
 */
export async function die(
  ctx: Context,
  home: Home,
  how: "die" | "giveUp",
  { also = [], error: text, ...settledBy }: Death,
): Promise<Home | undefined> {
  const error = truncate(text, ERROR_BYTES);
  // rule: envelope-before-dead-home
  const hasLetter = how === "die" && (await sendLetter(ctx, home, error));
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

  const set = { ...settledBy, finishedAt: now, lastError: error, expiresAt };
  const change = changeOf(how, home, set, { also });
  // rule: dead-home-comes-last
  const changed = await ctx.pool.change(change, by);
  const found = changed.item && readHome(changed.item, home.id);
  if (!found || isUnreadable(found) || !(changed.changed || hasAttributes(found, change.set)))
    return undefined;
  await releaseKey(ctx, found, expiresAt, by);
  const { topic, id, attempt } = home;
  ctx.report({ type: "dead", topic, id, attempt, error, hasLetter });
  return found;
}

/** Answers `false` if SQS refuses the text of the letter. */
async function sendLetter(ctx: Context, home: Home, error: string): Promise<boolean> {
  const [sent] = await ctx.queues.send({ topic: home.topic, dead: true }, [
    { body: deadText(home, error), delaySeconds: 0 },
  ]);
  if (sent?.outcome === "sent") return true;
  if (sent?.outcome === "refused") return false;
  const reason = sent?.reason ?? "no answer";
  throw new MinutehandError(
    "unavailable",
    `SQS rejected a message to the DLQ of topic ${home.topic}: ${reason}`,
  );
}
