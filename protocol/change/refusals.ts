import { MinutehandError, untrackedTopic } from "../../core/errors.ts";
import { hasCrashed, isFinished, isRunning } from "../../core/home.ts";
import type { Head } from "../../core/items.ts";
import type { Expected } from "../ports.ts";

/**
 * Answers the condition on which a user's call may change a job: the job waits, or its run has crashed.
 *
 * @throws `untracked-topic`; `job-running`, with the end of the lease; `job-finished`
 */
export function expectUnclaimed(home: Head, now: number): Expected {
  if (home.untracked)
    throw untrackedTopic(home.topic, `a change of job ${home.id}, which was filed untracked,`);
  if (isRunning(home, now)) {
    throw new MinutehandError(
      "job-running",
      `job ${home.id} is running; it can be changed only while it waits`,
      {
        id: home.id,
        leaseUntil: new Date(home.leaseEnd ?? now).toISOString(),
      },
    );
  }
  if (isFinished(home)) {
    throw new MinutehandError("job-finished", `job ${home.id} has ended: it is ${home.state}`, {
      id: home.id,
      state: home.state,
    });
  }
  if (hasCrashed(home, now)) return { state: "running", token: home.token, leaseEnd: home.leaseEnd };
  return { state: "scheduled" };
}

/**
 * Answers the condition on which a bulk may move a job: `expectUnclaimed`, and no event has cancelled the job while it ran. A user
 * who names such a job may run it again after a crash. A bulk names no job, so a bulk treats the job as finished.
 *
 * @throws as `expectUnclaimed`
 */
export function expectNotCancelled(home: Head, now: number): Expected {
  const expect = expectUnclaimed(home, now);
  if (home.cancelAskedAt === undefined) return { ...expect, cancelAskedAt: undefined };
  throw new MinutehandError(
    "job-finished",
    `an event cancelled job ${home.id} while it ran, and the run crashed: the job does not run again`,
    { id: home.id },
  );
}

/**
 * Answers why a job can be neither cancelled nor moved. `undefined`: it can be cancelled or moved.
 *
 * @param condition the condition on which the job may be changed, which throws if the job fails it
 */
export function refusalOf(home: Head, now: number, condition = expectUnclaimed): MinutehandError | undefined {
  try {
    condition(home, now);
  } catch (error) {
    if (error instanceof MinutehandError) return error;
    throw error;
  }
  return undefined;
}
