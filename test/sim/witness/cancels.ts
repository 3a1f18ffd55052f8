import type { KnownJobs } from "./known-jobs.ts";

export type Cancels = ReturnType<typeof cancelsOf>;

export function cancelsOf(clock: () => number, jobs: KnownJobs) {
  const notes = jobs.notes(() => ({
    /** The calls that cancel the job, and when each ended: ms since the epoch. */
    calls: [] as { until: number }[],
    isAcknowledged: false,
  }));
  return {
    /** A user calls to cancel a job. Answers a callback for the end of that call, whether it is answered or not. */
    asked(id: string): () => void {
      const call = { until: Number.POSITIVE_INFINITY };
      notes(id).calls.push(call);
      return () => {
        call.until = clock();
      };
    },
    acknowledged(id: string): void {
      notes(id).isAcknowledged = true;
    },
    isAcknowledged: (id: string): boolean => notes(id).isAcknowledged,
    /** Whether a call to cancel the job ended after `since`, or goes on. */
    isAsked: (id: string, since: number): boolean => notes(id).calls.some(({ until }) => since <= until),
  };
}
