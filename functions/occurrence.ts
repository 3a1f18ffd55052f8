import { MinutehandError } from "../src/core/errors.ts";
import { parseOccurrence } from "../src/core/occurrence.ts";
import { createContext } from "../src/environment/context.ts";
import { fileOccurrence } from "../src/protocol/file/recurring.ts";

const ctx = createContext();

/** An error is thrown: Lambda retries twice, and then sends the event to the schedules' DLQ. */
export async function handler(event: unknown): Promise<void> {
  try {
    await fileOccurrence(ctx, parseOccurrence(event));
  } catch (error) {
    // It was filed before, and its job is no longer stored.
    if (!(error instanceof MinutehandError && error.code === "job-not-found")) throw error;
  } finally {
    await ctx.telemetry.flush();
  }
}
