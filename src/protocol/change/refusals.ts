import { MinutehandError, untrackedTopic } from "../../core/errors.ts";
import { type Head, isFinished, isRunning } from "../../core/home.ts";

/** Answers the state of a job that a call may change: it waits or has crashed. @throws `untracked-topic`; `job-running`; `job-finished` */
export function requireUnclaimed(home: Head, now: number): "scheduled" | "running" {
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
  return home.state === "running" ? "running" : "scheduled";
}

/** As `requireUnclaimed`, for a bulk: a job that an event has cancelled while it ran is over. A user who names it may run it again. */
export function requireNotCancelled(home: Head, now: number): "scheduled" | "running" {
  const state = requireUnclaimed(home, now);
  if (home.cancelAskedAt === undefined) return state;
  throw new MinutehandError(
    "job-finished",
    `an event cancelled job ${home.id} while it ran, and the run crashed: the job does not run again`,
    { id: home.id },
  );
}

/** Answers the error that `condition` throws for a job. `undefined`: the job may be changed. */
export function refusalOf(
  home: Head,
  now: number,
  condition = requireUnclaimed,
): MinutehandError | undefined {
  try {
    condition(home, now);
  } catch (error) {
    if (error instanceof MinutehandError) return error;
    throw error;
  }
  return undefined;
}
