import { CLOCK_MARGIN } from "../../../src/core/constants.ts";
import type { Home } from "../../../src/core/home.ts";
import type { Bench } from "./bench.ts";

/** The jobs that a bulk is for. ms since the epoch. */
export type Range = { topic: string; group: string | undefined; from: number; to: number };

export function bulksOf(bench: Bench) {
  return { ...bulkCancelsOf(bench), ...bulkMovesOf(bench) };
}

function bulkCancelsOf({ clock, skew }: Bench) {
  const cancelling: (Range & { begunBy: number })[] = [];
  return {
    /** A call asks for a bulk that cancels these jobs. Answers a callback for the end of the call: the bulk cannot begin later. */
    cancels(range: Range): () => void {
      const asked = { ...range, begunBy: Number.POSITIVE_INFINITY };
      cancelling.push(asked);
      return () => {
        asked.begunBy = clock();
      };
    },
    /** Whether a bulk may cancel a job that has had these due times: the bulk's range had the job when the bulk began. */
    mayCancel({ topic, group, createdAt, askedAt = createdAt }: Home, due: readonly number[]): boolean {
      return cancelling.some(
        (bulk) =>
          bulk.topic === topic &&
          (bulk.group === undefined || bulk.group === group) &&
          due.some((time) => bulk.from <= time && time < bulk.to) &&
          askedAt <= bulk.begunBy + CLOCK_MARGIN + skew,
      );
    },
  };
}

function bulkMovesOf({ broken }: Bench) {
  const moved = new Map<number, Set<string>>();
  /** The jobs that each bulk has shifted, by the ms of its shift. */
  const shifted = new Map<number, Set<string>>();
  /** The times to which bulks have shifted jobs. */
  const shiftedTo = new Set<number>();
  return {
    /** A bulk will move jobs to about this time, ms since the epoch. Answers a time near it that no other bulk uses. */
    begun: (about: number): number => unused(moved, about),

    /** A bulk will shift jobs by about as many ms. Answers a shift near it that no other bulk uses, and no retry by chance. */
    shifts: (about: number): number => unused(shifted, about + 137),

    /** Whether a bulk moved jobs to this time. Such jobs may be late: the time can be hours ahead, when ticks are rare. */
    isMark: (time: number): boolean => moved.has(time) || shiftedTo.has(time),

    changed(before: Home, after: Home): void {
      const shift = after.dueAt - before.dueAt;
      const byShift = shifted.get(shift);
      if (byShift?.has(after.id)) broken(after.id, `shifted by ${shift} ms again by the same bulk`);
      if (byShift) shiftedTo.add(after.dueAt);
      byShift?.add(after.id);
      const jobs = moved.get(after.dueAt);
      if (!jobs) return;
      // Another body, another hold, or a postponement beyond the job's bound (which only changes `wantedAt`) leaves the time as it is.
      const isAnother = before.body !== after.body || before.wantedAt !== after.wantedAt;
      const stays = before.dueAt === after.dueAt && (isAnother || after.heldUntil !== undefined);
      if (!stays && jobs.has(after.id)) broken(after.id, `moved to ${after.dueAt} again by the same bulk`);
      jobs.add(after.id);
    },
  };
}

function unused(known: Map<number, Set<string>>, about: number): number {
  let ms = about;
  while (known.has(ms)) ms += 1;
  known.set(ms, new Set());
  return ms;
}
