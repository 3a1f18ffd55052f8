import type { JobLog } from "../../console/job-logs.ts";
import { formatLogLine } from "../../local/log-lines.ts";
import { readLogEvents } from "../aws/log-events.ts";
import type { JobSummary } from "../client/answers.ts";
import type { Client } from "../client/client.ts";
import { MinutehandError } from "../core/errors.ts";
import { logPlaceIn } from "../settings/log-groups.ts";

/** Lines that were written up to this long after a job has ended can be of the job, too. */
const AFTER_THE_END = 5 * 60_000;

/**
 * Reads the log of a job from CloudWatch with the user's credentials, in the form in which `minutehand local` writes a log. The API names the
 * log, so the page cannot name another one. `now`: ms since the epoch.
 */
export async function cloudLog(api: Client, id: string, now: number, signal: AbortSignal): Promise<JobLog> {
  const job = await api.get(id, { signal });
  const place = logPlaceIn(job.logUrl ?? "");
  if (place === undefined)
    throw new MinutehandError(
      "unavailable",
      "the API names no log of this job: no consumer has begun it, or its consumer is no function of the queue's stack",
    );
  const { events, isWhole } = await readLogEvents({ ...place, end: endOf(job, now) }, signal);
  const lines = events.flatMap(({ message, timestamp }) => {
    const line = formatLogLine(job.topic, message.trimEnd(), timestamp);
    if (line === undefined) return [];
    const { text, at, trace } = line;
    return [{ text, at, ...(trace !== undefined && { trace }) }];
  });
  return { lines, isWhole };
}

function endOf({ state, finishedAt }: JobSummary, now: number): number {
  // A job that is not finished can run at any time, and so can a dead one that somebody redrives.
  if (finishedAt === undefined || state === "scheduled" || state === "running") return now;
  return Math.min(now, Date.parse(finishedAt) + AFTER_THE_END);
}
