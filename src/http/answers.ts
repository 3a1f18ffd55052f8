import * as z from "zod/mini";
import { ACTOR_KINDS } from "../core/actor.ts";
import { AUDIT_AFTER, ENTRIES_A_PAGE, LATE_AFTER, LOOKAHEAD, TROUBLED_COUNTED } from "../core/constants.ts";
import { answeredOptions, answeredScheduleOptions } from "./job-options.ts";
import { answer } from "./named.ts";
import { STATUS } from "./problem.ts";
import { answeredSettings } from "./settings-json.ts";

/**
 * Times are ISO 8601 in UTC with ms, and durations are seconds. An answer has no union of objects, because clients that generators make
 * in some languages take one such object for another without an error.
 */

/** The lag before the first sweep, ms: the first sweep of a shard begins `AUDIT_AFTER` before now. */
const LAG_AT_FIRST = AUDIT_AFTER + LOOKAHEAD;

const time = z.iso.datetime({ precision: 3 });
/** The time of the server's clock at which it judged what it answers. A caller's clock may be off, and an answer may be old. */
const at = time.check(
  z.meta({
    description: "When the answer was made, by the API's clock: `late` and `held` are of this time.",
  }),
);
const count = z.int().check(z.minimum(0));
const text = z.string();
const status = z.int().check(z.minimum(100), z.maximum(599));

export const STATES = ["scheduled", "running", "done", "cancelled", "dead", "expired", "handed-off"] as const;
const state = answer("JobState", z.enum(STATES));

const outcome = answer("Outcome", z.enum(["created", "kept", "replaced", "postponed", "replayed"]));

/** A job without its body and timeline, for lists and batches. */
const jobSummary = answer(
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

const actor = answer(
  "Actor",
  z.object({
    kind: answer("ActorKind", z.enum(ACTOR_KINDS)).check(
      z.meta({
        description:
          "`caller`: a call of the API or of a direct client. `event`: an event of EventBridge. `schedule`: a recurring schedule. `bulk`: a bulk of a caller. `topic`: the topic's `ifLate`. `sqs`: a redrive of the DLQ by SQS.",
      }),
    ),
    name: z.exactOptional(
      text.check(
        z.meta({
          description:
            "The session name or the user that signed the call, if the API requires signatures; the event's id; the schedule's name.",
        }),
      ),
    ),
    reason: z.exactOptional(text.check(z.meta({ description: "The `reason` of the call." }))),
  }),
);

export type ActorJson = z.output<typeof actor>;

const happening = answer(
  "TimelineEntry",
  z.object({
    at: time,
    event: answer("TimelineEvent", z.enum(EVENTS)),
    attempt: z.exactOptional(count),
    dueAt: z.exactOptional(time),
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
      .check(z.meta({ description: "The last ten events of the job, the oldest first." })),
    earlierEventsDropped: z.exactOptional(
      z
        .boolean()
        .check(z.meta({ description: "True if the timeline has lost older events, the filing among them." })),
    ),
  }),
);
export type JobJson = z.output<typeof job>;

/** Empty for an untracked job, because its run is not recorded in the table. */
export const settledJob = answer("SettledJob", z.partial(job));

/**
 * An open list: a caller must take codes that it does not know, because a later version may have more. Generators make text of it, in
 * every language. Of a union of an `enum` and text they make types from which a caller cannot read the code in one step.
 */
const errorCode = answer(
  "ErrorCode",
  z.string().check(
    z.meta({
      description: `One of these codes, or a code of a later version: ${Object.keys(STATUS).join(", ")}.`,
      "x-extensible-enum": Object.keys(STATUS),
    }),
  ),
);

export const problem = answer(
  "Problem",
  z.looseObject({
    type: text,
    title: text,
    status,
    detail: text,
    code: errorCode,
    errors: z.exactOptional(
      z
        .array(answer("FieldError", z.object({ path: text, message: text })))
        .check(z.meta({ description: "The first ten rules that the request breaks." })),
    ),
    moreErrors: z.exactOptional(
      count.check(z.meta({ description: "How many more rules the request breaks than `errors` lists." })),
    ),
  }),
);
export type Problem = z.output<typeof problem>;

const jobOrError = { job: z.exactOptional(jobSummary), error: z.exactOptional(problem) };
const JOB_OR_ERROR = z.meta({ description: "Either `job` or `error`." });

export const batchResults = answer(
  "BatchResults",
  z.object({
    results: z.array(answer("BatchResult", z.object({ status, ...jobOrError }).check(JOB_OR_ERROR))),
  }),
);

export const cancelResults = answer(
  "CancelResults",
  z.object({
    results: z.array(
      answer("CancelResult", z.object({ id: text, status, ...jobOrError }).check(JOB_OR_ERROR)),
    ),
  }),
);

export const bulkPart = answer(
  "BulkPart",
  z.object({
    action: answer("BulkAction", z.enum(["cancel", "move", "run", "redrive"])),
    dryRun: z.boolean(),
    examined: count,
    matched: count,
    changed: count,
    skipped: z.record(text, count).check(
      z.meta({
        description: "How many matching jobs were not changed, for each error code that says why.",
      }),
    ),
    errors: z
      .array(answer("BulkFailure", z.object({ id: text, problem })))
      .check(z.meta({ description: "The first ten jobs that were not changed, each with its error." })),
    from: time,
    to: time,
    reached: time.check(z.meta({ description: "The bulk has examined all jobs up to this time." })),
    cursor: z.exactOptional(text),
  }),
);
export type BulkPart = z.output<typeof bulkPart>;

export const jobPage = answer(
  "JobPage",
  z.object({ jobs: z.array(jobSummary), at, cursor: z.exactOptional(text) }),
);

type BackoffJson = { waits: number[] } | { initial: number; factor: number; max: number; jitter: number };

const backoff = answer(
  "Backoff",
  z
    .object({
      waits: z.exactOptional(z.array(z.number())),
      initial: z.exactOptional(z.number()),
      factor: z.exactOptional(z.number()),
      max: z.exactOptional(z.number()),
      jitter: z.exactOptional(z.number()),
    })
    .check(z.meta({ description: "Either `waits`, or the other four fields." })),
) as z.ZodMiniType<BackoffJson>;

const parked = count.check(
  z.meta({
    description:
      "How many jobs wait for their release, counted up to 1,000. A job that was cancelled or changed while it waited still counts, until the release reaches it.",
  }),
);

const webhookPolicy = answer(
  "WebhookPolicy",
  z.object({
    url: z.exactOptional(text),
    timeout: z.number(),
    allowHttp: z.boolean(),
    allowHosts: z.array(text),
    onlyHosts: z.exactOptional(z.array(text)),
    ports: z.array(count),
    sharedSecret: z.boolean(),
    mostAttempts: count,
  }),
);

const topicPolicy = answer(
  "TopicPolicy",
  z.object({
    consumer: answer("TopicConsumer", z.enum(["lambda", "pull", "webhook"])),
    webhook: z.exactOptional(webhookPolicy),
    maxPerSecond: z.exactOptional(z.number()),
    window: z.exactOptional(text),
    ifLate: z.exactOptional(
      answer(
        "IfLate",
        z.object({ after: z.number(), do: answer("IfLateAction", z.enum(["skip", "expire"])) }),
      ),
    ),
    cancelledByEvents: z.exactOptional(
      z.boolean().check(z.meta({ description: "True if events cancel jobs. Otherwise absent." })),
    ),
    ...answeredSettings,
    pack: count,
    backoff,
  }),
);

const atLeast = z.exactOptional(
  z.boolean().check(
    z.meta({
      description: `True if the read ended at its bound of about ${TROUBLED_COUNTED.toLocaleString("en")} jobs of a topic and ${ENTRIES_A_PAGE.toLocaleString("en")} of all topics: there may be more, also older ones. Otherwise absent.`,
    }),
  ),
);
/** Whether the read has looked at all jobs that could be late. */
const sampledSince = z.exactOptional(
  time.check(
    z.meta({
      description:
        "Only a sample of the jobs that were due since this time was looked at, because there were too many, or some could not be read. A late job among them is found for certain once an audit has reached it, 7 to 12 minutes after it was due.",
    }),
  ),
);

const lateJobs = answer(
  "LateJobs",
  z
    .object({
      count,
      atLeast,
      since: z.exactOptional(time.check(z.meta({ description: "The `lateSince` of the oldest one." }))),
    })
    .check(
      z.meta({ description: "The jobs that are late. The field `lateSince` of a job says what that is." }),
    ),
);

const retryingJobs = answer(
  "RetryingJobs",
  z
    .object({
      count,
      atLeast,
      error: z.exactOptional(
        text.check(z.meta({ description: "The error of the attempt that failed last." })),
      ),
      failedAt: z.exactOptional(time.check(z.meta({ description: "When that attempt failed." }))),
      next: z.exactOptional(time.check(z.meta({ description: "When the first of them runs again." }))),
    })
    .check(z.meta({ description: "The jobs whose last attempt failed, and that wait for their next one." })),
);

export const topicReport = answer(
  "Topic",
  z.object({
    topic: text,
    policy: topicPolicy,
    depths: answer("TopicDepths", z.object({ ready: count, delayed: count, inFlight: count, dead: count })),
    sweepLag: z.number().check(
      z.meta({
        description: `How many seconds the sweep of the slowest shard is behind. A sweep that is not behind has sent all jobs that are due within the next ${LOOKAHEAD / 60_000} minutes. Up to two minutes is normal: the place of an idle shard is written every second minute. Before the first sweep the value is ${LAG_AT_FIRST / 1000}.`,
      }),
    ),
    pause: z.exactOptional(
      answer(
        "TopicPause",
        z.object({
          state: answer("TopicPauseState", z.enum(["paused", "resuming"])),
          since: time,
          by: z.exactOptional(actor),
          ratePerSecond: z.exactOptional(z.number()),
          parked,
        }),
      ),
    ),
    late: lateJobs,
    retrying: retryingJobs,
    at,
    sampledSince,
  }),
);
export type TopicJson = z.output<typeof topicReport>;

export const topicReports = answer("Topics", z.object({ topics: z.array(topicReport) }));

const pulledJob = answer(
  "PulledJob",
  z.object({
    id: text,
    receipt: text,
    attempt: count,
    dueAt: time,
    body: z.unknown(),
    headers: z.exactOptional(z.record(text, text)),
    leaseUntil: time,
  }),
);
export type PulledJob = z.output<typeof pulledJob>;

export const pulledJobs = answer("PulledJobs", z.object({ jobs: z.array(pulledJob) }));

export const paused = answer(
  "Paused",
  z.object({ topic: text, state: z.literal("paused"), since: time, by: z.exactOptional(actor) }),
);
export type Paused = z.output<typeof paused>;

export const resumed = answer("Resumed", z.object({ topic: text, released: count, left: parked }));
export type Resumed = z.output<typeof resumed>;

const scheduleSummary = answer(
  "ScheduleSummary",
  z.object({
    name: text,
    expression: text,
    timezone: text,
    start: z.exactOptional(time),
    end: z.exactOptional(time),
    flexibleWindow: z.exactOptional(z.number()),
    topic: text,
    ...answeredScheduleOptions,
    paused: z.boolean(),
    createdAt: time,
    declared: z.exactOptional(
      text.check(
        z.meta({
          description:
            "The path of the construct that declares the schedule. Only a deployment of that stack changes or deletes it.",
        }),
      ),
    ),
    next: z.array(time).check(
      z.meta({
        description: "The next five occurrences. While the schedule is paused, they file no jobs.",
      }),
    ),
  }),
);
export type ScheduleSummary = z.output<typeof scheduleSummary>;

export const schedule = answer("Schedule", z.extend(scheduleSummary, { body: z.unknown() }));
export type ScheduleJson = z.output<typeof schedule>;

export const schedulePage = answer(
  "SchedulePage",
  z.object({ schedules: z.array(scheduleSummary), cursor: z.exactOptional(text) }),
);

export const redriven = answer("Redriven", z.object({ redriven: count, left: count }));
export type Redriven = z.output<typeof redriven>;

const forecastCount = answer(
  "ForecastCount",
  z.object({
    from: time,
    topic: text,
    state: answer("ForecastState", z.enum([...STATES, "held", "late"])),
    count,
  }),
);

export const forecast = answer(
  "Forecast",
  z.object({
    minutes: z
      .array(answer("ForecastMinute", z.object({ minute: time, count })))
      .check(z.meta({ description: "How many unfinished jobs fall due in each minute." })),
    counts: z.exactOptional(
      z.array(forecastCount).check(
        z.meta({
          description:
            "How many jobs of each topic and state are due in the step that begins at `from`. A waiting job is counted as `late` or as `held` if it is, see `lateSince` and `held` of a job, else as `scheduled`. Only with `step`.",
        }),
      ),
    ),
    at,
    reached: time.check(z.meta({ description: "All jobs that are due before this time are counted." })),
    cursor: z.exactOptional(
      text.check(
        z.meta({ description: "The cursor of the next call. Absent when the forecast is complete." }),
      ),
    ),
    next: z.exactOptional(
      time.check(
        z.meta({
          description:
            "As `reached`, while there is a `cursor`. A caller without cursors can send it as the next `from`, unless it is the `from` of this call: then only the `cursor` leads on.",
        }),
      ),
    ),
  }),
);
export type ForecastJson = z.output<typeof forecast>;

export const health = answer("Health", z.object({ status: z.literal("ok"), version: text }));
export type Health = z.output<typeof health>;
export const openapi = answer("OpenApi", z.looseObject({ openapi: text }));
