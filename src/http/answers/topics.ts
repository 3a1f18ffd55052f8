import * as z from "zod/mini";
import { AUDIT_AFTER, ENTRIES_A_COUNT, LOOKAHEAD, TROUBLED_COUNTED } from "../../core/constants.ts";
import { answer } from "../named.ts";
import { actor } from "./actor.ts";
import { topicPolicy } from "./topic-policy.ts";
import { at, count, text, time } from "./values.ts";

/** The lag before the first sweep, ms: the first sweep of a shard begins `AUDIT_AFTER` before now. */
const LAG_AT_FIRST = AUDIT_AFTER + LOOKAHEAD;

const parked = count.check(
  z.meta({
    description:
      "How many jobs wait for their release, counted up to 1,000. A job that was cancelled or changed while it waited still counts, until the release reaches it.",
  }),
);

const atLeast = z.exactOptional(
  z.boolean().check(
    z.meta({
      description: `True if there may be more, also older ones: about ${TROUBLED_COUNTED.toLocaleString("en")} jobs of the topic were counted, the read of all topics ended at its bound of about ${ENTRIES_A_COUNT.toLocaleString("en")} jobs or a second, or \`sampledSince\` is there. Otherwise absent.`,
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
    .check(
      z.meta({
        description:
          "The jobs whose last attempt failed, and whose next one is not due yet. If there may be more, the error is that of the newest failure among these.",
      }),
    ),
);

const dead = count.check(
  z.meta({
    description:
      "About how many messages the dead-letter queue has. The message of a job that is no longer dead counts until the next tick removes it. `GET /topics/{topic}/dead` lists the dead jobs.",
  }),
);

export const topicReport = answer(
  "Topic",
  z.object({
    topic: text,
    policy: topicPolicy,
    depths: answer("TopicDepths", z.object({ ready: count, delayed: count, inFlight: count, dead })),
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

export const paused = answer(
  "Paused",
  z.object({ topic: text, state: z.literal("paused"), since: time, by: z.exactOptional(actor) }),
);
export type Paused = z.output<typeof paused>;

export const resumed = answer("Resumed", z.object({ topic: text, released: count, left: parked }));
export type Resumed = z.output<typeof resumed>;
