import { MinutehandError } from "../core/errors.ts";

/** In which states a job has ended, except `cancelled`. */
const ENDS = ["done", "dead", "expired"] as const;

/**
 * What became of a job that `cancelIfWaiting` was asked to cancel. `cancelled`: it never runs, because this call or an earlier one has cancelled it.
 * `running`, `done`, `dead`, `expired`: the call came too late. `not-found`: there is no such job, or it ended so long ago that it is deleted.
 */
export type CancelOutcome<Job> =
  | { outcome: "cancelled"; job: Job }
  | { outcome: "running" | (typeof ENDS)[number] | "not-found"; job?: never };

/** Answers the refusals that say what became of the job. Throws all other errors. */
export async function outcomeOf<Job>(cancel: () => Promise<Job>): Promise<CancelOutcome<Job>> {
  try {
    return { outcome: "cancelled", job: await cancel() };
  } catch (error) {
    const outcome = error instanceof MinutehandError ? refusedAs(error) : undefined;
    if (outcome === undefined) throw error;
    return { outcome };
  }
}

function refusedAs({
  code,
  data,
}: MinutehandError): Exclude<CancelOutcome<never>["outcome"], "cancelled"> | undefined {
  if (code === "job-running") return "running";
  if (code === "job-not-found") return "not-found";
  return code === "job-finished" ? ENDS.find((state) => state === data.state) : undefined;
}
