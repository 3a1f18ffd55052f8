import { BUCKET, STARTS_AHEAD } from "../../../src/core/constants.ts";
import { beginOf, type Period, periodOf } from "../../../src/core/limit.ts";
import { type MessageJob, startOf } from "../../../src/core/message.ts";
import type { Policy } from "../../../src/settings/policy.ts";

/** The lengths of time for which the limit is checked, in periods: a limit may be broken at once or only in the long run. */
const SPANS = [1, 2, 5, 20, 60];

/** ms that a job may wait without others: two ticks, because the first one's starts may go to cancelled jobs, and `STARTS_AHEAD`. */
const GIVEN_WITHIN = 2 * BUCKET + STARTS_AHEAD;

type Started = { id: string; topic: string; dueAt: number; start: number };
type Periods = ReadonlyMap<string, Period>;

/** In no span may more jobs of a topic be shown, or run, than its limit allows. Delays in whole seconds reach into the next period. */
export function limitsOf(clock: () => number, skew: number, topics: Policy["topics"]) {
  const periods = new Map<string, Period>();
  for (const [topic, { maxPerSecond }] of Object.entries(topics))
    if (maxPerSecond !== undefined) periods.set(topic, periodOf(maxPerSecond));
  const [begun, ran] = [countsOf(periods), countsOf(periods)];
  const known = new Set<string>();
  return {
    sent(topic: string, jobs: readonly MessageJob[], time: number): void {
      if (!periods.has(topic)) return;
      for (const job of jobs) {
        const begins = Math.max(startOf(job), time);
        // The job will have expired, so it does not start.
        if (job.expiresAt !== undefined && begins > Date.parse(job.expiresAt) + skew) continue;
        // Several messages with one start, for example after a change of the body, count once, because only one of them runs the job.
        const start = `${job.id} ${startOf(job)}`;
        if (known.has(start)) continue;
        known.add(start);
        begun.count(topic, begins);
      }
    },
    /** A handler starts a job of this topic now. Its message may have been visible for long, because Lambda did not poll the queue. */
    ran: (topic: string): void => ran.count(topic, clock()),
    ...startsOf(clock, skew, periods),
    ...waitsOf(periods),
    broken(): string | undefined {
      // Runs may need one period more: a delay is rounded up to a second, or the consumer's clock is a little ahead.
      const how = begun.broken("shown", 1) ?? ran.broken("run", 2);
      return how && `${how}, at ${clock()}`;
    },
  };
}

function startsOf(clock: () => number, skew: number, periods: Periods) {
  /** For each revision the start in its last message, which its home says too. ms since the epoch. */
  const given = new Map<string, number>();
  return {
    /** The jobs to which an earlier message gave another start that is still ahead. A second start takes one from the other jobs. */
    startedAnew(topic: string, jobs: readonly MessageJob[]): MessageJob[] {
      if (!periods.has(topic)) return [];
      return jobs.filter((job) => {
        if (job.heldUntil === undefined) return false;
        const revision = `${job.id} ${job.revision}`;
        const before = given.get(revision);
        given.set(revision, startOf(job));
        // By a fast clock the earlier start may have passed.
        return before !== undefined && before > clock() + skew && before !== startOf(job);
      });
    },
  };
}

function waitsOf(periods: Periods) {
  const started = new Map<string, Started[]>([...periods.keys()].map((topic) => [topic, []]));
  return {
    started: (run: Started): void => void started.get(run.topic)?.push(run),
    /** Jobs that waited longer than the runs of others explain. `openFor`: when the topic's window has been open for `ms` since `time`. */
    waitedTooLong: (openFor: (topic: string, time: number, ms: number) => number): Started[] =>
      [...started].flatMap(([topic, runs]) => {
        const { ms, starts } = periods.get(topic) as Period;
        return runs.filter(({ dueAt, start }) => {
          const others = runs.filter((other) => other.start >= dueAt && other.start <= start).length;
          return start > openFor(topic, dueAt, (Math.ceil(others / starts) + 2) * ms + GIVEN_WITHIN);
        });
      }),
  };
}

function countsOf(periods: Periods) {
  const counted = new Map<string, Map<number, number>>(
    [...periods.keys()].map((topic) => [topic, new Map()]),
  );
  return {
    count(topic: string, time: number): void {
      const [period, counts] = [periods.get(topic), counted.get(topic)];
      if (!period || !counts) return;
      const begin = beginOf(time, period);
      counts.set(begin, (counts.get(begin) ?? 0) + 1);
    },
    /** Says where the count is higher than the limit. `more`: so many periods more are allowed. */
    broken(how: string, more: number): string | undefined {
      for (const [topic, counts] of counted) {
        const period = periods.get(topic) as Period;
        for (const span of SPANS) {
          for (const from of counts.keys()) {
            const within = Array.from({ length: span }, (_, i) => counts.get(from + i * period.ms) ?? 0);
            const sum = within.reduce((a, b) => a + b, 0);
            if (sum > (span + more) * period.starts)
              return `${sum} jobs of ${topic} were ${how} in ${span} periods of ${period.ms} ms from ${from}`;
          }
        }
      }
      return undefined;
    },
  };
}
