import { DAY } from "../../../src/core/constants.ts";
import { type Home, isFinished, startsAt } from "../../../src/core/home.ts";
import { timeOf } from "../../../src/core/item-keys.ts";
import { addressOf } from "../../../src/core/job-id.ts";
import type { Bench } from "./bench.ts";
import type { KnownJob, KnownJobs } from "./known-jobs.ts";

/** ms after its start for which an untracked job waits for a tick (docs/reference/tracking.md). */
const OUTAGE = 10 * DAY;

export function untrackedOf({ clock, skew }: Bench, jobs: KnownJobs) {
  const sweeps = new Map<number, string>();
  /** `outlived`: whether TTL deleted the job's home before a sweep read it. */
  const notes = jobs.notes(() => ({ outlived: false }));
  return {
    swept: (shard: number, position: string): void => void sweeps.set(shard, position),
    /** TTL deletes a home. If ticks have missed the job for long enough, it may be lost (docs/reference/tracking.md). */
    deleted(home: Home): void {
      const [swept, start] = [sweeps.get(addressOf(home.id).shard), startsAt(home)];
      const isReached = swept === undefined || timeOf(swept) > start;
      notes(home.id).outlived = !isReached && start + OUTAGE <= clock() + skew;
    },
    isToCome: ({ home, handedOff }: KnownJob): boolean =>
      home?.untracked === true &&
      home.state === "scheduled" &&
      handedOff.size === 0 &&
      startsAt(home) > clock(),
    /** Whether an untracked job was sent to SQS and has run. If messages can be lost (`mayLose`), it need not have run. */
    hasCome(id: string, mayLose: boolean): boolean {
      const { home, acknowledged, handedOff, starts } = jobs.of(id);
      if (!acknowledged || notes(id).outlived) return true;
      if (home && (!home.untracked || isFinished(home))) return true;
      return handedOff.size > 0 && (mayLose || starts.size > 0);
    },
  };
}
