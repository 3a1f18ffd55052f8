import { BATCH_PATIENCE, UNTRACKED_AFTER } from "../../core/constants.ts";
import { isNear } from "../../core/home.ts";
import { type Home, homeKey, lookAt, ttl } from "../../core/items.ts";
import type { Attribute, Context, Deadline } from "../ports.ts";
import { readableHomes } from "../store/read-job.ts";
import { changeApart, insertApart } from "../store/write-apart.ts";

/**
 * A waiting job, when it may start, and from when on it waits for that alone: ms since the epoch. `isSent`: its caller alone
 * sends it, and sweeps leave it. So another's start is none of the caller's.
 */
export type GivenStart = {
  readonly home: Home;
  readonly from: number;
  readonly until: number;
  readonly isSent?: boolean;
};

/** A held job's home as it is then, `undefined` for one that is no longer as read, or what kept it unknown. */
export type StartOutcome = Home | undefined | Error;

/**
 * Moves waiting jobs to later starts, many at once: they stay due when they were, so that anybody can see how long they
 * are held. As in any move the looks stand before the homes say so, and the caller looks at the clock after. `patience`: for how
 * long what DynamoDB leaves unknown is tried again, ms. A job whose look is not filed is not moved, and gets the error.
 */
export async function moveToStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  patience = BATCH_PATIENCE,
): Promise<StartOutcome[]> {
  const now = ctx.clock();
  const looks = holds.map(({ home, until }) => lookAt(home.id, until));
  // rule: look-before-hold
  const filed = await insertApart(ctx, looks, now + patience);
  const moved = holds.filter((_, i) => !(filed[i] instanceof Error));
  // A deadline of its own: looks that nobody takes must not use up the time of the other jobs.
  const outcomes = await hold(ctx, moved, ctx.clock() + patience, ({ home, until }) => ({
    revision: home.revision + 1,
    // Limits give starts that are near alone.
    ...(isNear(until, now) ? {} : { uncounted: until }),
  }));
  return filed.map((look) => (look instanceof Error ? look : outcomes.shift()));
}

/** Notes the starts of jobs that are sent at once, so that whoever sends them again gives them no other. */
export function noteStarts(
  ctx: Context,
  holds: readonly GivenStart[],
  patience = BATCH_PATIENCE,
): Promise<StartOutcome[]> {
  return hold(ctx, holds, ctx.clock() + patience, () => ({}));
}

async function hold(
  ctx: Context,
  holds: readonly GivenStart[],
  by: Deadline,
  more: (hold: GivenStart) => Record<string, Attribute>,
): Promise<StartOutcome[]> {
  const changes = holds.map((one) => {
    const { home, from, until, isSent = false } = one;
    const expect = { state: "scheduled", revision: home.revision, heldUntil: home.heldUntil };
    // A job that was parked would stay for years.
    const expires = home.untracked ? { expiresAt: ttl(until + UNTRACKED_AFTER) } : {};
    return {
      key: homeKey(home.id),
      expect,
      set: {
        heldFrom: from,
        heldUntil: until,
        ...(home.uncounted === undefined ? {} : { uncounted: 0 }),
        ...expires,
        ...(isSent ? { sentFor: until } : {}),
        ...more(one),
      },
    };
  });
  const outcomes = await changeApart(ctx, changes, by);
  const refused = holds.filter((_, i) => outcomes[i] === "refused");
  const found = await readableHomes(
    ctx,
    refused.map(({ home }) => home.id),
    "holding jobs",
  );
  return holds.map((one, i) => {
    const outcome = outcomes[i] ?? new Error("no answer");
    if (outcome instanceof Error) return outcome;
    const held: Home = { ...one.home, ...changes[i]?.set };
    if (outcome === "changed") return held;
    if (one.isSent) return undefined;
    // A repeat after a lost answer finds its own work, and another's start serves as well.
    const stands = found[refused.indexOf(one)];
    return stands?.state === "scheduled" &&
      stands.revision === held.revision &&
      stands.heldUntil !== undefined
      ? { ...stands, ...(one.home.spare && { spare: true as const }) }
      : undefined;
  });
}
