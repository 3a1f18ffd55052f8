import type { MessageJob } from "../core/message.ts";
import { knownResume } from "./known-pauses.ts";
import type { Looks } from "./limit.ts";
import { homesBefore } from "./park.ts";
import { isLimited } from "./policy.ts";
import type { Context } from "./ports.ts";
import { lookLater, send } from "./send.ts";

/** No start that has passed counts. */
const NEW_STARTS: Looks = { parked: new Set(), behind: new Set() };

/**
 * Gives other starts to jobs of a limited topic that lay in its queue while it was paused: their own have passed, and they would
 * all start at once. Answers their ids: their messages are done with.
 */
export async function sendMissed(
  ctx: Context,
  topic: string,
  jobs: readonly MessageJob[],
): Promise<Set<string>> {
  const resumedAt = isLimited(ctx, topic) ? await knownResume(ctx, topic) : undefined;
  if (resumedAt === undefined) return new Set();
  const missed = await homesBefore(ctx, jobs, resumedAt);
  // Spare, so that each start is noted in its home: another message of the job then takes no other.
  const homes = missed.flatMap((home) =>
    home.state === "scheduled" ? { ...home, spare: true as const } : [],
  );
  if (homes.length > 0) await lookLater(ctx, homes, await send(ctx, homes, NEW_STARTS));
  return new Set(homes.map(({ id }) => id));
}
