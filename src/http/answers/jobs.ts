import * as z from "zod/mini";
import { LATE_AFTER } from "../../core/constants.ts";
import { answeredOptions } from "../job-options.ts";
import { answer } from "../named.ts";
import { actor } from "./actor.ts";
import { at, count, ofSchedule, text, time } from "./values.ts";

export const STATES = ["scheduled", "running", "done", "cancelled", "dead", "expired", "handed-off"] as const;
const state = answer("JobState", z.enum(STATES));

const outcome = answer("Outcome", z.enum(["created", "kept", "replaced", "postponed", "replayed"]));

/** A job without its body and timeline, for lists and batches. */
export const jobSummary = answer(
  "JobSummary",
  z.object({
    id: text,
    topic: text,
    key: z.exactOptional(text),
    state,
    dueAt: time,
    revision: count,
    attempt: count,
    ...answeredOptions,
    // The topic's value, if the job has none.
    maxAttempts: count,
    createdAt: time,
    ...ofSchedule,
    claimedAt: z.exactOptional(time),
    finishedAt: z.exactOptional(time),
    heldUntil: z.exactOptional(
      time.check(
        z.meta({
          description:
            "When the job starts, if a pause, a rate limit or a window of its topic makes it start later than `dueAt`.",
        }),
      ),
    ),
    held: z.exactOptional(
      z.boolean().check(
        z.meta({
          description:
            "True if a pause, a resume at a rate, a rate limit or a window of its topic holds the job. Otherwise absent. Only the calls that read a single job, and the list of jobs, answer it.",
        }),
      ),
    ),
    lateSince: z.exactOptional(
      time.check(
        z.meta({
          description: `The job is late: it could have started at this time, ${LATE_AFTER / 1000} s or more ago, has not, and nothing holds it. A job that waits for a retry is not late. Only the calls that read a single job, and the list of jobs, answer it.`,
        }),
      ),
    ),
    retrying: z.exactOptional(
      z.boolean().check(
        z.meta({
          description:
            "True if the last attempt failed, the next one is not due yet, and nothing holds the job. Otherwise absent. Only the calls that read a single job, and the list of jobs, answer it.",
        }),
      ),
    ),
    postponeUntil: z.exactOptional(
      time.check(
        z.meta({ description: "The latest time to which `onDuplicate: postpone` can move the job." }),
      ),
    ),
    leaseUntil: z.exactOptional(time),
    lastError: z.exactOptional(text),
    logUrl: z.exactOptional(
      text.check(
        z.meta({
          description:
            "The page of CloudWatch with the log of the job's runs. Only the calls that read a single job, and the list of dead jobs, answer it. It is absent if the job has not run, or if the API does not know the log group of the topic's function.",
        }),
      ),
    ),
    leftOut: z.exactOptional(
      z.array(text).check(
        z.meta({
          description:
            "The fields of the job that this answer leaves out, because with them the answer to a batch would be too long. The call that reads the job answers them.",
        }),
      ),
    ),
    outcome: z.exactOptional(outcome),
  }),
);
export type JobSummary = z.output<typeof jobSummary>;

const EVENTS = [
  "filed",
  "moved",
  "held",
  "sent",
  "claimed",
  "failed",
  "asked-to-retry",
  "retried",
  "dead",
  "done",
  "cancelled",
  "expired",
] as const;

const happening = answer(
  "TimelineEntry",
  z.object({
    at: time,
    event: answer("TimelineEvent", z.enum(EVENTS)),
    attempt: z.exactOptional(count),
    dueAt: z.exactOptional(time),
    heldUntil: z.exactOptional(time.check(z.meta({ description: "Of `held`: the start that the job got." }))),
    by: z.exactOptional(actor),
    lateness: z.exactOptional(
      z.number().check(
        z.meta({
          description:
            "How many seconds after `dueAt` the run started. A wait for a pause, a rate limit or a window does not count.",
        }),
      ),
    ),
    error: z.exactOptional(text),
  }),
);

export const job = answer(
  "Job",
  z.extend(jobSummary, {
    body: z.unknown(),
    timeline: z
      .array(happening)
      .check(
        z.meta({ description: "The filing of the job and its last nine other events, the oldest first." }),
      ),
    earlierEventsDropped: z.exactOptional(
      z
        .boolean()
        .check(z.meta({ description: "True if the timeline has lost events that came after the filing." })),
    ),
  }),
);
export type JobJson = z.output<typeof job>;

export const jobPage = answer(
  "JobPage",
  z.object({ jobs: z.array(jobSummary), at, cursor: z.exactOptional(text) }),
);
