import * as z from "zod/mini";
import { BATCH_JOBS, LONGEST_LEASE, RATES, RECEIVE_JOBS, RECEIVE_WAIT_SECONDS } from "../core/constants.ts";
import {
  body,
  duration,
  expression,
  flexibleWindow,
  jobId,
  key,
  longDuration,
  matching,
  shift,
  timezone,
  topic,
  wholeNumber,
} from "./fields.ts";
import { bound, instant } from "./instants.ts";
import { filters, requestedOptions } from "./job-options.ts";
import { described, refTo, request } from "./named.ts";

const dueAt = instant.check(
  z.meta({
    description:
      "When the job is due. A time in the past makes the job due now, and it is late from the start: `expiresAfter` and the topic's `ifLate` count from the requested time.",
  }),
);
const time = { delay: z.exactOptional(duration), dueAt: z.exactOptional(dueAt) };

/**
 * Rules about several fields stand in descriptions. As keywords of JSON Schema beside `properties`, they make generators of clients
 * write types without fields, or code that does not compile.
 */
const ONE_TIME = "Exactly one of `delay` and `dueAt` must be given.";

type Time = { delay?: number; dueAt?: number };

const exactlyOneTime = z.refine<Time>(({ delay, dueAt }) => (delay === undefined) !== (dueAt === undefined), {
  error: ({ input }) =>
    `exactly one of delay and dueAt must be given, got ${(input as Time).delay === undefined ? "none" : "both"}`,
});

type Move = Time & { shift?: number; ratePerSecond?: number };
const timesIn = ({ delay, dueAt, shift }: Move): number =>
  [delay, dueAt, shift].filter((time) => time !== undefined).length;

const exactlyOneMove = z.refine<Move>((move) => timesIn(move) === 1, {
  error: ({ input }) =>
    `exactly one of delay, dueAt and shift must be given, got ${timesIn(input as Move) === 0 ? "none" : "several"}`,
});
const noRateOfShift = z.refine<Move>(
  ({ shift, ratePerSecond }) => shift === undefined || ratePerSecond === undefined,
  {
    path: ["ratePerSecond"],
    error: "must be absent with shift, which keeps the jobs as far apart as they are",
  },
);

/** The fields of `POST /jobs` and of `PUT` by key. */
const fields = { body, ...time, ...requestedOptions };

/** The path has the topic and the key. */
export const keyedJob = request(
  "KeyedJob",
  z.strictObject(fields).check(exactlyOneTime, z.meta({ description: ONE_TIME })),
);

export type KeyedJobFields = z.output<typeof keyedJob>;

const ARRAY_RULE = 'must be an object, or for several jobs {"jobs": […]} to /jobs/batch';

export const newJob = request(
  "NewJob",
  z
    .strictObject(
      {
        topic,
        ...fields,
        key: z.exactOptional(key),
        onDuplicate: z.exactOptional(
          request("OnDuplicate", z.enum(["reject", "keep", "replace", "postpone"])).check(
            z.meta({ description: "Allowed with a `key` only." }),
          ),
        ),
        maxDelay: z.exactOptional(
          longDuration.check(
            z.meta({ description: "Required with `onDuplicate: postpone`, and allowed only there." }),
          ),
        ),
      },
      { error: ({ input }) => (Array.isArray(input) ? ARRAY_RULE : undefined) },
    )
    .check(
      z.refine(({ key, onDuplicate }) => onDuplicate === undefined || key !== undefined, {
        path: ["onDuplicate"],
        error: "must be absent without a key",
      }),
      z.refine(({ onDuplicate, maxDelay }) => (onDuplicate === "postpone") === (maxDelay !== undefined), {
        path: ["maxDelay"],
        error: "must be given with onDuplicate postpone, and absent otherwise",
      }),
      exactlyOneTime,
      z.meta({ description: ONE_TIME }),
    ),
);
export type NewJobFields = z.output<typeof newJob>;

export const newSchedule = request(
  "NewSchedule",
  z
    .strictObject({
      expression,
      timezone: z._default(timezone, "UTC"),
      start: z.exactOptional(bound),
      end: z.exactOptional(bound),
      flexibleWindow: z.exactOptional(flexibleWindow),
      topic,
      body,
      ...requestedOptions,
    })
    .check(
      z.refine(({ start, end }) => start === undefined || end === undefined || start <= end, {
        path: ["end"],
        error: "must not be before start",
      }),
    ),
);
export type NewScheduleFields = z.output<typeof newSchedule>;

export const newJobs = request(
  "NewJobs",
  z.strictObject({ jobs: z.array(described("NewJob")).check(z.meta({ maxItems: BATCH_JOBS })) }),
);

export const changes = request(
  "Changes",
  z.strictObject({ ...time, body: z.exactOptional(z.unknown()) }).check(
    z.refine((change) => Object.keys(change).length > 0, {
      error: "at least one of delay, dueAt and body must be given",
    }),
    z.refine(({ delay, dueAt }) => delay === undefined || dueAt === undefined, {
      error: "delay and dueAt must not both be given",
    }),
    z.meta({
      description: "At least one field must be given, and not both `delay` and `dueAt`.",
      minProperties: 1,
    }),
  ),
);

export type ChangeFields = z.output<typeof changes>;

export const jobIds = request(
  "JobIds",
  z.strictObject({
    ids: z.array(z.unknown().check(z.meta({ type: "string" }))).check(z.meta({ maxItems: BATCH_JOBS })),
  }),
);

export const receiving = request(
  "Receiving",
  z.strictObject({
    max: z._default(wholeNumber(1, RECEIVE_JOBS), 1),
    waitSeconds: z._default(wholeNumber(0, RECEIVE_WAIT_SECONDS), 0),
  }),
);

const receipt = matching(/^[\w-]+$/, "must be a receipt that receive answered");
const error = z.string({ error: "must be text" });

export const finishing = request("Finishing", z.strictObject({ receipt }));
export const extending = request(
  "Extending",
  z.strictObject({ receipt, seconds: wholeNumber(1, LONGEST_LEASE / 1000) }),
);
export const retrying = request(
  "Retrying",
  z.strictObject({ receipt, delay: z.exactOptional(duration), error: z.exactOptional(error) }),
);
export const burying = request("Burying", z.strictObject({ receipt, error: z.exactOptional(error) }));

const { lowest, highest } = RATES;
const RATE_RULE = `must be a number of jobs a second from ${lowest} to ${highest}`;
const IDS_RULE = `must be an array of at most ${BATCH_JOBS} job ids`;

const ratePerSecond = z
  .number({ error: RATE_RULE })
  .check(z.minimum(lowest, { error: RATE_RULE }), z.maximum(highest, { error: RATE_RULE }));

const rate = z.exactOptional(ratePerSecond);

export const pausing = request("Pausing", z.strictObject({}));
export const running = request("Running", z.strictObject({}));
export const resuming = request("Resuming", z.strictObject({ ratePerSecond: rate }));

const which = {
  topic,
  ...filters,
  from: z.exactOptional(bound),
  to: z.exactOptional(bound),
  dryRun: z._default(z.boolean(), false),
  cursor: z.exactOptional(z.string()),
};

export const bulk = request(
  "Bulk",
  z
    .discriminatedUnion("action", [
      request("BulkCancel", z.strictObject({ action: z.enum(["cancel"]), ...which })),
      request("BulkRun", z.strictObject({ action: z.enum(["run"]), ...which, ratePerSecond: rate })),
      request("BulkRedrive", z.strictObject({ action: z.enum(["redrive"]), ...which, ratePerSecond: rate })),
      request("BulkDismiss", z.strictObject({ action: z.enum(["dismiss"]), ...which })),
      request(
        "BulkMove",
        z
          .strictObject({
            action: z.enum(["move"]),
            ...which,
            ...time,
            shift: z.exactOptional(
              shift.check(z.meta({ description: "Moves each job by as much. Not with `ratePerSecond`." })),
            ),
            ratePerSecond: rate,
          })
          .check(
            exactlyOneMove,
            noRateOfShift,
            z.meta({ description: "Exactly one of `delay`, `dueAt` and `shift` must be given." }),
          ),
      ),
    ])
    .check(
      z.meta({
        discriminator: {
          propertyName: "action",
          mapping: {
            cancel: refTo("BulkCancel"),
            run: refTo("BulkRun"),
            redrive: refTo("BulkRedrive"),
            dismiss: refTo("BulkDismiss"),
            move: refTo("BulkMove"),
          },
        },
      }),
    ),
);
export type BulkFields = z.output<typeof bulk>;

const SELECTED = "At least one of `topic`, `tag`, `group` and `keyPrefix` must be given.";

export const erasing = request(
  "Erasing",
  z
    .strictObject({
      topic: z.exactOptional(topic),
      ...filters,
      keyPrefix: z.exactOptional(
        key.check(z.meta({ description: "The first characters of the jobs' keys." })),
      ),
      dryRun: z._default(z.boolean(), false),
      cursor: z.exactOptional(z.string()),
    })
    .check(
      z.refine(
        (asked) => [asked.topic, asked.tag, asked.group, asked.keyPrefix].some((one) => one !== undefined),
        {
          error: "at least one of topic, tag, group and keyPrefix must be given, or all jobs would be erased",
        },
      ),
      z.meta({ description: SELECTED }),
    ),
);
export type ErasingFields = z.output<typeof erasing>;

const ids = z.array(jobId, { error: IDS_RULE }).check(z.maxLength(BATCH_JOBS, { error: IDS_RULE }));

export const dismissing = request("Dismissing", z.strictObject({ ids }));

export const redriving = request(
  "Redriving",
  z
    .strictObject({
      ids: z.exactOptional(ids),
      max: z.exactOptional(wholeNumber(1, BATCH_JOBS)),
      delay: z.exactOptional(duration),
      ratePerSecond: rate,
    })
    .check(
      z.refine(({ ids, max }) => ids === undefined || max === undefined, {
        error: "ids and max must not both be given",
      }),
      z.meta({ description: "`ids` and `max` must not both be given." }),
    ),
);
