import { MinutehandError } from "../core/errors.ts";
import { parseOccurrence } from "../core/occurrence.ts";
import { createContext } from "../environment/context.ts";
import { fileOccurrence } from "../protocol/file/recurring.ts";

const ctx = createContext();

/**
 * Files the job of a recurring schedule's occurrence. An error is thrown: Lambda retries the event twice, and then sends it to the
 * schedules' DLQ.
 */
export async function handler(event: unknown): Promise<void> {
  try {
    await fileOccurrence(ctx, parseOccurrence(event));
  } catch (error) {
    // The occurrence was filed before, and its job is no longer stored. So nothing is left to do.
    if (!(error instanceof MinutehandError && error.code === "job-not-found")) throw error;
  } finally {
    ctx.telemetry.flush();
  }
}
