import type { MessageJob } from "../core/message.ts";
import { knownResume } from "./known-pauses.ts";
import { isShut, type Looks } from "./limit.ts";
import { homesBefore } from "./park.ts";
import { policyOf } from "./policy.ts";
import type { Context } from "./ports.ts";
import { lookLater, send } from "./send.ts";

/** No start that has passed counts. */
const NEW_STARTS: Looks = { parked: new Set(), behind: new Set() };

/**
 * Gives other starts to jobs that lay in the queue of their topic while it was paused, as its limit and its window let it: their
 * own have passed, and they would all start at once, or when the window has shut. Answers their ids: their messages are done
 * with.
 */
export async function sendMissed(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const { maxPerSecond, window } = policyOf(ctx, topic);
  if (maxPerSecond === undefined && window === undefined) return new Set();
  const resumedAt = await knownResume(ctx, topic);
  if (resumedAt === undefined) return new Set();
  const missed = await homesBefore(ctx, jobs, resumedAt);
  const homes = missed.flatMap((home) => {
    const isHeld = maxPerSecond !== undefined || isShut(ctx, home);
    // Spare, so that each start is noted in its home: another message of the job then takes no other.
    return home.state === "scheduled" && isHeld ? { ...home, spare: true as const } : [];
  });
  if (homes.length > 0) await lookLater(ctx, homes, await send(ctx, homes, NEW_STARTS));
  return new Set(homes.map(({ id }) => id));
}
