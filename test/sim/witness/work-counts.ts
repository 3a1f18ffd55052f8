import type { Home } from "../../../src/core/home.ts";
import { LIMITED_TOPICS, PAUSED_TOPICS } from "../../../src/core/item-keys.ts";
import type { Policy } from "../../../src/settings/policy.ts";
import type { KnownJobs } from "./known-jobs.ts";

export function workCountsOf(jobs: KnownJobs, topics: Policy["topics"]) {
  const counts = { messages: 0, parked: 0, held: 0, runs: 0 };
  const parkedRevisions = new Set<string>();
  const tendedTopics = new Set<string>();
  /** How many revisions all jobs had. An untracked job has no revisions, so its runs count: each retry sends a message. */
  const revisions = (): number =>
    [...jobs.ids].map(jobs.of).reduce((sum, job) => {
      return sum + Math.max(job.revisions.length, job.starts.get("") ?? 0, 1);
    }, 0);
  return {
    sent(carried: number): void {
      counts.messages += carried;
    },
    parked(id: string, revision: string, isNew: boolean): void {
      if (isNew) counts.parked += 1;
      parkedRevisions.add(`${id} ${revision}`);
    },
    changed(before: Home, { id, state, heldUntil, revision }: Home): void {
      const isHeld = state === "scheduled" && heldUntil !== undefined && heldUntil !== before.heldUntil;
      if (isHeld && !parkedRevisions.has(`${id} ${revision}`)) counts.held += 1;
    },
    isTended: (pk: string): boolean => pk === LIMITED_TOPICS || pk === PAUSED_TOPICS,
    tended: (pk: string, topic: string): void => void tendedTopics.add(`${pk} ${topic}`),
    started(topic: string): void {
      if (topics[topic]?.consumer !== "pull") counts.runs += 1;
    },
    /** Revisions include those of untracked jobs that were never stored. `held`: delayed by a limit or a window, and not parked. */
    all: () => ({ revisions: revisions(), ...counts, tendedTopics: tendedTopics.size }),
  };
}
