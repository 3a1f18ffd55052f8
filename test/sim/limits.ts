import { beginOf, type Period, periodOf } from "../../core/limit.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import type { Policy } from "../../core/policy.ts";

/** Spans that are looked at, in periods: a limit may be broken in a moment or in the long run. */
const SPANS = [1, 2, 5, 20, 60];

/**
 * Judges the messages of topics that have a limit: in no span may more jobs become visible than it lets start, but for
 * one period's: a delay is a whole second, which spills into the next.
 */
export function limitsOf({ clock, topics }: { clock: () => number; topics: Policy["topics"] }) {
  const periods = new Map<string, Period>();
  for (const [topic, { maxPerSecond }] of Object.entries(topics))
    if (maxPerSecond !== undefined) periods.set(topic, periodOf(maxPerSecond));
  const begun = new Map<string, Map<number, number>>([...periods.keys()].map((topic) => [topic, new Map()]));

  const known = new Set<string>();

  return {
    /** Jobs of a message that is visible from `time` on. */
    sent(topic: string, jobs: readonly MessageJob[], time: number): void {
      const period = periods.get(topic);
      const counts = begun.get(topic);
      if (!period || !counts) return;
      for (const job of jobs) {
        const begin = beginOf(Math.max(startOf(job), time), period);
        // A second message of the same start is dropped at the claim.
        const start = `${job.id} ${job.revision} ${startOf(job)}`;
        if (known.has(start)) continue;
        known.add(start);
        counts.set(begin, (counts.get(begin) ?? 0) + 1);
      }
    },

    /** ms that a job of this topic may wait for those before it, of which there are `jobs` at most. */
    longestWait(topic: string, jobs: number): number {
      const period = periods.get(topic);
      return period ? (Math.ceil(jobs / period.starts) + 2) * period.ms : 0;
    },

    /** How the limits were broken, if they were. */
    broken(): string | undefined {
      for (const [topic, counts] of begun) {
        const period = periods.get(topic) as Period;
        for (const span of SPANS) {
          for (const from of counts.keys()) {
            const within = Array.from({ length: span }, (_, i) => counts.get(from + i * period.ms) ?? 0);
            const sum = within.reduce((a, b) => a + b, 0);
            if (sum > (span + 1) * period.starts)
              return `${sum} jobs of ${topic} in ${span} periods of ${period.ms} ms from ${from}, at ${clock()}`;
          }
        }
      }
      return undefined;
    },
  };
}
