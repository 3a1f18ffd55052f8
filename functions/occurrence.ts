import { MinutehandError } from "../core/errors.ts";
import { parseOccurrence } from "../core/occurrence.ts";
import { fileOccurrence } from "../protocol/recurring.ts";
import { createContext } from "../sdk/context.ts";

const ctx = createContext();

/**
 * Files the job of a recurring schedule's occurrence. What failed is thrown: Lambda repeats it twice, then puts the event
 * into the schedules' DLQ.
 */
export async function handler(event: unknown): Promise<void> {
  try {
    await fileOccurrence(ctx, parseOccurrence(event));
  } catch (error) {
    // It was told before, and its job's retention is over.
    if (!(error instanceof MinutehandError && error.code === "job-not-found")) throw error;
  } finally {
    ctx.telemetry.flush();
  }
}
