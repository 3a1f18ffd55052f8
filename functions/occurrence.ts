import { MinutehandError } from "../core/errors.ts";
import { parseOccurrence } from "../core/occurrence.ts";
import { createContext } from "../environment/context.ts";
import { fileOccurrence } from "../protocol/file/recurring.ts";

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
