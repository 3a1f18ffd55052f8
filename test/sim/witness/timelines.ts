import { isDeepStrictEqual } from "node:util";
import { LOG_ENTRIES } from "../../../src/core/constants.ts";
import { type Home, isFinished } from "../../../src/core/home.ts";
import { timelineOf } from "../../../src/core/timeline.ts";
import type { Bench } from "./bench.ts";
import type { KnownJobs } from "./known-jobs.ts";

/** A claim as it was written: the attempt that it began, and its time by its machine's clock. */
type Claim = { attempt: number; at: number };

export function timelinesOf({ skew, broken }: Bench, jobs: KnownJobs) {
  const claimsOf = jobs.notes((): Claim[] => []);
  return {
    written(before: Home | undefined, after: Home): void {
      const claims = claimsOf(after.id);
      if (before?.state === "scheduled" && after.state === "running")
        claims.push({ attempt: after.attempt, at: after.claimedAt ?? 0 });
      const wrong = isFinished(after) && !after.untracked && wrongIn(after, claims, skew);
      if (wrong) broken(after.id, `${wrong}: ${JSON.stringify(after)}`);
    },
  };
}

/** Says what is wrong in a finished job's timeline. `claims`: all claims of the job. `skew`: ms that clocks may be off. */
function wrongIn(home: Home, claims: readonly Claim[], skew: number): string | undefined {
  const told = timelineOf(home);
  if (told.length > LOG_ENTRIES) return `${told.length} entries`;
  const early = told.findIndex(({ at }, i) => at < (told[i - 1]?.at ?? 0) - 2 * skew);
  if (early !== -1) return `entry ${early} before the one before it`;
  if (told.at(-1)?.what !== home.state) return `no end as ${home.state}`;
  const begun = told.flatMap(({ what, attempt = 0, at }) => (what === "claimed" ? [{ attempt, at }] : []));
  const last = told.length < LOG_ENTRIES ? claims : claims.slice(claims.length - begun.length);
  return isDeepStrictEqual(begun, last)
    ? undefined
    : `claims ${JSON.stringify(begun)}, not ${JSON.stringify(last)}`;
}
