import { BUCKET, STARTS_AHEAD } from "../../core/constants.ts";
import { beginOf, type Period, periodOf } from "../../core/limit.ts";
import { type MessageJob, startOf } from "../../core/message.ts";
import type { Policy } from "../../core/policy.ts";

/** Spans that are looked at, in periods: a limit may be broken in a moment or in the long run. */
const SPANS = [1, 2, 5, 20, 60];

/**
 * ms that a job of a limited topic may wait though no other runs: till the next tick, whose starts may all have been given
 * to jobs that were cancelled or moved since, and till the next one, which gives starts so far ahead.
 */
const GIVEN_WITHIN = 2 * BUCKET + STARTS_AHEAD;

/** A run as its message had it: when it was due, and when its message let it start. */
type Started = { id: string; topic: string; dueAt: number; start: number };

/**
 * Judges the messages and the runs of topics that have a limit: in no span may more jobs become visible or run than it lets
 * start, but for the periods beside the span: a delay is a whole second, which spills into the next.
 */
export function limitsOf({
  clock,
  skew,
  topics,
}: {
  clock: () => number;
  skew: number;
  topics: Policy["topics"];
}) {
  const periods = new Map<string, Period>();
  for (const [topic, { maxPerSecond }] of Object.entries(topics))
    if (maxPerSecond !== undefined) periods.set(topic, periodOf(maxPerSecond));
  const perPeriod = (): Map<string, Map<number, number>> =>
    new Map([...periods.keys()].map((topic) => [topic, new Map()]));
  const begun = perPeriod();
  const ran = perPeriod();
  const count = (counts: Map<number, number>, begin: number): void =>
    void counts.set(begin, (counts.get(begin) ?? 0) + 1);

  const known = new Set<string>();
  /** The start that messages gave a revision last, which its home says too. ms since the epoch. */
  const given = new Map<string, number>();
  const started = new Map<string, Started[]>([...periods.keys()].map((topic) => [topic, []]));

  return {
    /** Jobs of a message that is visible from `time` on. */
    sent(topic: string, jobs: readonly MessageJob[], time: number): void {
      const period = periods.get(topic);
      const counts = begun.get(topic);
      if (!period || !counts) return;
      for (const job of jobs) {
        const begins = Math.max(startOf(job), time);
        // It has expired, and does not start.
        if (job.expiresAt !== undefined && begins > Date.parse(job.expiresAt) + skew) continue;
        const begin = beginOf(begins, period);
        // Of a job's messages of the same start one runs: it keeps its start when its body is changed.
        const start = `${job.id} ${startOf(job)}`;
        if (known.has(start)) continue;
        known.add(start);
        count(counts, begin);
      }
    },

    /** A handler begins with a job of a topic now. Its message may have been visible for long, as nobody polled the queue. */
    ran(topic: string): void {
      const [period, counts] = [periods.get(topic), ran.get(topic)];
      if (period && counts) count(counts, beginOf(clock(), period));
    },

    /**
     * The jobs of a message whose earlier message gave them another start that is still ahead. A start that a home says
     * stays: another one would take a start of the limit from other jobs.
     */
    startedAnew(topic: string, jobs: readonly MessageJob[]): MessageJob[] {
      if (!periods.has(topic)) return [];
      return jobs.filter((job) => {
        if (job.heldUntil === undefined) return false;
        const revision = `${job.id} ${job.revision}`;
        const before = given.get(revision);
        given.set(revision, startOf(job));
        // To a clock that is fast it may have passed.
        return before !== undefined && before > clock() + skew && before !== startOf(job);
      });
    },

    started: (run: Started): void => void started.get(run.topic)?.push(run),

    /**
     * Jobs that waited for a limit for longer than those took that really ran meanwhile. `openFor`: when ms of a topic's
     * window have passed since a time.
     */
    waitedTooLong(openFor: (topic: string, time: number, ms: number) => number): Started[] {
      return [...started].flatMap(([topic, runs]) => {
        const { ms, starts } = periods.get(topic) as Period;
        return runs.filter(({ dueAt, start }) => {
          const others = runs.filter((other) => other.start >= dueAt && other.start <= start).length;
          return start > openFor(topic, dueAt, (Math.ceil(others / starts) + 2) * ms + GIVEN_WITHIN);
        });
      });
    },

    /** How the limits were broken, if they were: by the messages, or by the runs. */
    broken(): string | undefined {
      // A run is a whole second later than it may be, as its delay was rounded up, or its consumer's clock is ahead a little.
      return brokenBy(begun, "shown", 1) ?? brokenBy(ran, "run", 2);
    },
  };

  function brokenBy(
    counted: ReadonlyMap<string, ReadonlyMap<number, number>>,
    how: string,
    more: number,
  ): string | undefined {
    for (const [topic, counts] of counted) {
      const period = periods.get(topic) as Period;
      for (const span of SPANS) {
        for (const from of counts.keys()) {
          const within = Array.from({ length: span }, (_, i) => counts.get(from + i * period.ms) ?? 0);
          const sum = within.reduce((a, b) => a + b, 0);
          if (sum > (span + more) * period.starts)
            return `${sum} jobs of ${topic} were ${how} in ${span} periods of ${period.ms} ms from ${from}, at ${clock()}`;
        }
      }
    }
    return undefined;
  }
}
