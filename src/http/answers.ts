import * as z from "zod/mini";
import { AUDIT_AFTER, ENTRIES_A_PAGE, LATE_AFTER, LOOKAHEAD, TROUBLED_COUNTED } from "../core/constants.ts";
import { answeredOptions, answeredScheduleOptions } from "./job-options.ts";
import { answer } from "./named.ts";
import { answeredSettings } from "./settings-json.ts";

/** Times are ISO 8601 in UTC with ms, and durations are seconds. */

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

export const STATES = ["scheduled", "running", "done", "cancelled", "dead", "expired", "handed-off"] as const;

/** A job without its body and timeline, for lists and batches. */
const jobSummary = answer(
  "JobSummary",
  z.object({
    id: text,
    topic: text,
    key: z.exactOptional(text),
    state: z.enum(STATES),
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
      z.literal(true).check(
        z.meta({
          description:
            "A pause, a resume at a rate, a rate limit or a window of its topic holds the job. Only the calls that read a single job, and the list of jobs, answer it.",
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
    outcome: z.exactOptional(z.enum(["created", "kept", "replaced", "postponed", "replayed"])),
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
  "dead",
  "done",
  "cancelled",
  "expired",
] as const;

const happening = z.object({
  at: time,
  event: z.enum(EVENTS),
  attempt: z.exactOptional(count),
  dueAt: z.exactOptional(time),
  lateness: z.exactOptional(
    z.number().check(
      z.meta({
        description:
          "How many seconds after `dueAt` the run started. A wait for a pause, a rate limit or a window does not count.",
      }),
    ),
  ),
  error: z.exactOptional(text),
});

export const job = answer(
  "Job",
  z.extend(jobSummary, {
    body: z.unknown(),
    timeline: z
      .array(happening)
      .check(z.meta({ description: "The last ten events of the job, the oldest first." })),
  }),
);
export type JobJson = z.output<typeof job>;

/** Empty for an untracked job, because its run is not recorded in the table. */
export const settledJob = answer("SettledJob", z.partial(job));

export const problem = answer(
  "Problem",
  z.looseObject({
    type: text,
    title: text,
    status: z.int(),
    detail: text,
    code: text,
    errors: z.exactOptional(z.array(z.object({ path: text, message: text }))),
  }),
);
export type Problem = z.output<typeof problem>;

export const batchResults = answer(
  "BatchResults",
  z.object({
    results: z.array(
      z.union([
        z.object({ status: z.int(), job: jobSummary }),
        z.object({ status: z.int(), error: problem }),
      ]),
    ),
  }),
);

export const cancelResults = answer(
  "CancelResults",
  z.object({
    results: z.array(
      z.union([
        z.object({ id: text, status: z.int(), job: jobSummary }),
        z.object({ id: text, status: z.int(), error: problem }),
      ]),
    ),
  }),
);

export const bulkPart = answer(
  "BulkPart",
  z.object({
    action: z.enum(["cancel", "move", "run", "redrive"]),
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
      .array(z.object({ id: text, problem }))
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

const backoff = z.union([
  z.object({ waits: z.array(z.number()) }),
  z.object({ initial: z.number(), factor: z.number(), max: z.number(), jitter: z.number() }),
]);

const parked = count.check(
  z.meta({
    description:
      "How many jobs wait for their release, counted up to 1,000. A job that was cancelled or changed while it waited still counts, until the release reaches it.",
  }),
);

const atLeast = z.exactOptional(
  z.literal(true).check(
    z.meta({
      description: `The read ended at its bound of about ${TROUBLED_COUNTED.toLocaleString("en")} jobs of a topic and ${ENTRIES_A_PAGE.toLocaleString("en")} of all topics. There may be more, also older ones.`,
    }),
  ),
);
/** Whether the read has looked at all jobs that could be late. */
const sampledSince = z.exactOptional(
  time.check(
    z.meta({
      description:
        "Only a sample of the jobs that were due since this time was looked at, because there were too many. A late job among them is found for certain once an audit has reached it, 7 to 12 minutes after it was due.",
    }),
  ),
);

export const topicReport = answer(
  "Topic",
  z.object({
    topic: text,
    policy: z.object({
      consumer: z.enum(["lambda", "pull", "webhook"]),
      webhook: z.exactOptional(
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
      ),
      maxPerSecond: z.exactOptional(z.number()),
      window: z.exactOptional(text),
      ifLate: z.exactOptional(z.object({ after: z.number(), do: z.enum(["skip", "expire"]) })),
      cancelledByEvents: z.exactOptional(z.literal(true)),
      ...answeredSettings,
      pack: count,
      backoff,
    }),
    depths: z.object({ ready: count, delayed: count, inFlight: count, dead: count }),
    sweepLag: z.number().check(
      z.meta({
        description: `How many seconds the sweep of the slowest shard is behind. A sweep that is not behind has sent all jobs that are due within the next ${LOOKAHEAD / 60_000} minutes. Up to two minutes is normal: the place of an idle shard is written every second minute. Before the first sweep the value is ${LAG_AT_FIRST / 1000}.`,
      }),
    ),
    pause: z.exactOptional(
      z.object({
        state: z.enum(["paused", "resuming"]),
        since: time,
        ratePerSecond: z.exactOptional(z.number()),
        parked,
      }),
    ),
    late: z
      .object({
        count,
        atLeast,
        since: z.exactOptional(time.check(z.meta({ description: "The `lateSince` of the oldest one." }))),
      })
      .check(
        z.meta({ description: "The jobs that are late. The field `lateSince` of a job says what that is." }),
      ),
    retrying: z
      .object({
        count,
        atLeast,
        error: z.exactOptional(
          text.check(z.meta({ description: "The error of the attempt that failed last." })),
        ),
        failedAt: z.exactOptional(time.check(z.meta({ description: "When that attempt failed." }))),
        next: z.exactOptional(time.check(z.meta({ description: "When the first of them runs again." }))),
      })
      .check(
        z.meta({ description: "The jobs whose last attempt failed, and that wait for their next one." }),
      ),
    at,
    sampledSince,
  }),
);
export type TopicJson = z.output<typeof topicReport>;

export const topicReports = answer("Topics", z.object({ topics: z.array(topicReport) }));

export const pulledJobs = answer(
  "PulledJobs",
  z.object({
    jobs: z.array(
      z.object({
        id: text,
        receipt: text,
        attempt: count,
        dueAt: time,
        body: z.unknown(),
        headers: z.exactOptional(z.record(text, text)),
        leaseUntil: time,
      }),
    ),
  }),
);

export type PulledJob = z.output<typeof pulledJobs>["jobs"][number];

export const paused = answer("Paused", z.object({ topic: text, state: z.literal("paused"), since: time }));
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

export const forecast = answer(
  "Forecast",
  z.object({
    minutes: z
      .array(z.object({ minute: time, count }))
      .check(z.meta({ description: "How many unfinished jobs fall due in each minute." })),
    counts: z.exactOptional(
      z.array(z.object({ from: time, topic: text, state: z.enum([...STATES, "held", "late"]), count })).check(
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
