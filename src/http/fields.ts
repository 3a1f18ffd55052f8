import * as z from "zod/mini";
import type { IfMatch } from "../core/as-seen.ts";
import { CHAIN_PATTERN } from "../core/chain.ts";
import {
  BODY_BYTES,
  DAY,
  EXPRESSION_CHARS,
  HEADERS_BYTES,
  IDEMPOTENCY_KEY_CHARS,
  LONGEST_DELAY,
  LONGEST_WINDOW_MINUTES,
  REASON_BYTES,
  REASON_CHARS,
} from "../core/constants.ts";
import { isJobId, JOB_ID_RULE } from "../core/job-id.ts";
import { KEY_PATTERN, KEY_RULE } from "../core/job-key.ts";
import { SCHEDULE_NAME, SCHEDULE_NAME_RULE } from "../core/occurrence.ts";
import { TOPIC_NAME, TOPIC_NAME_RULE } from "../core/topic-name.ts";
import { parseTraceparent } from "../core/traceparent.ts";
import { parseDuration, parseShift } from "../general/times.ts";
import { request } from "./named.ts";

/** An error text follows the name of its field, so it begins with "must". Parsed durations are ms. */

/** `rule`: the error text. */
export function matching(pattern: RegExp, rule: string) {
  return z.string({ error: rule }).check(z.regex(pattern, { error: rule }));
}

export function wholeNumber(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`;
  const checks = [z.minimum(least, { error: rule }), z.maximum(most, { error: rule })] as const;
  return z.int({ error: rule }).check(...checks);
}

export function digits(least: number, most: number) {
  const read = (text: unknown) => (typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : text);
  return z.pipe(z.transform(read), wholeNumber(least, most));
}

export const topic = matching(TOPIC_NAME, `must be ${TOPIC_NAME_RULE}`);

export const key = matching(KEY_PATTERN, KEY_RULE);

export const scheduleName = matching(SCHEDULE_NAME, `must be ${SCHEDULE_NAME_RULE}`);

export const jobId = z
  .string({ error: JOB_ID_RULE })
  .check(z.refine(isJobId, { error: JOB_ID_RULE }), z.meta({ pattern: "^[0-7][0-9A-HJKMNP-TV-Z]{25}$" }));

/** No comma: HTTP joins two headers of the same name with one, so two keys would look like one. */
export const idempotencyKey = matching(
  new RegExp(`^[ -+\\--~]{1,${IDEMPOTENCY_KEY_CHARS}}$`),
  `must be 1 to ${IDEMPOTENCY_KEY_CHARS} characters of printable ASCII without commas, in one header`,
).check(
  z.meta({
    description:
      "Makes the call idempotent: a repeat, which is the same request with the same key, has no further effect, and answers the same jobs as they are now. A key belongs to one topic. In `reschedule` it belongs to one job, and in `runSchedule` to one schedule.",
  }),
);

export const chain = matching(
  CHAIN_PATTERN,
  "must be the id of a chain's first job, a dot, and the generation of these jobs, from 1",
).check(
  z.meta({
    description:
      "Names the chain of these jobs, because a handler files them: `<id of the chain's first job>.<generation>`. The TypeScript client sends the header by itself. From the third generation on, the jobs count against `maxFiledPerChain`.",
  }),
);

/** A malformed value is ignored, as "traceparent Header" of W3C Trace Context says: a caller's tracing must not make its call fail. */
export const traceparent = z.pipe(
  z.string(),
  z.transform((text: string) => (parseTraceparent(text) ? text : undefined)),
);

const ENTITY_TAG = '(?:W/)?"[!#-~]*"';
// Lists may have empty elements ("Lists", RFC 9110): some programs join header lines in this way.
const ENTITY_TAGS = new RegExp(`^(?:\\*|[ \\t,]*${ENTITY_TAG}(?:[ \\t]*,[ \\t,]*${ENTITY_TAG})*[ \\t,]*)$`);

/** Strong entity tags without their quotes, or `*`. A weak tag never matches ("If-Match", RFC 9110). */
export const ifMatch = z
  .pipe(
    matching(ENTITY_TAGS, 'must be one * or entity tags in quotes, such as "3"'),
    z.transform((text: string): IfMatch => {
      if (text === "*") return text;
      return [...text.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag = ""]) => (weak ? [] : tag));
    }),
  )
  .check(
    z.meta({
      description:
        'Changes the job only if it is as the caller saw it: the `ETag` that the read of the job answered, or its `revision` in quotes, such as `"3"`. Otherwise the call answers 412 `changed-meanwhile`, and changes nothing.',
    }),
  );

/** The error text for a number that is too great. */
const orMilliseconds = (rule: string) => `${rule} (did you mean milliseconds?)`;

const DURATION_RULE = `must be seconds (0 or more) or a string such as "90s", "1h30m" or "7d", at most ${LONGEST_DELAY / DAY} days`;

// Each schema of a duration names this one, so generated code has a name for the text too.
const durationText = request(
  "DurationText",
  matching(/^(?:\d+(?:ms|[smhd]))+$/, DURATION_RULE).check(
    z.meta({ description: "Numbers with their units `ms`, `s`, `m`, `h` or `d`." }),
  ),
);

/** A duration, in ms, of at most `most`. `least` checks a number of seconds. `rule`: the error text for a longer one. */
function durationWithin(least: z.core.$ZodCheck<number>, most: number, rule: string) {
  return z.pipe(
    z.union(
      [
        z
          .number({ error: DURATION_RULE })
          .check(least, z.maximum(most / 1000, { error: orMilliseconds(rule) })),
        durationText,
      ],
      { error: DURATION_RULE },
    ),
    z.transform((value: number | string, context) => {
      const ms = parseDuration(value);
      if (ms !== undefined && ms <= most) return ms;
      context.issues.push({ code: "custom", message: ms === undefined ? DURATION_RULE : rule, input: value });
      return z.NEVER;
    }),
  );
}

const NOT_NEGATIVE = z.minimum(0, { error: DURATION_RULE });

const WRITTEN = "A number of seconds, or a text such as `90s`, `1h30m` or `7d`.";

export const duration = request(
  "Duration",
  durationWithin(NOT_NEGATIVE, LONGEST_DELAY, DURATION_RULE).check(z.meta({ description: WRITTEN })),
);

const SHIFT_RULE = `must be seconds or a string such as "2h" or "-30m", not 0, at most ${LONGEST_DELAY / DAY} days`;

// Code that generators make has a name for the text too, as of durations.
const shiftText = request(
  "ShiftText",
  matching(/^-?(?:\d+(?:ms|[smhd]))+$/, SHIFT_RULE).check(
    z.meta({ description: "Numbers with their units `ms`, `s`, `m`, `h` or `d`, after `-` if earlier." }),
  ),
);
const shiftSeconds = z
  .number({ error: SHIFT_RULE })
  .check(
    z.minimum(-LONGEST_DELAY / 1000, { error: orMilliseconds(SHIFT_RULE) }),
    z.maximum(LONGEST_DELAY / 1000, { error: orMilliseconds(SHIFT_RULE) }),
  );
/** By how much to move a job, in ms: below 0 if earlier. */
export const shift = request(
  "Shift",
  z
    .pipe(
      z.union([shiftSeconds, shiftText], { error: SHIFT_RULE }),
      z.transform((value: number | string, context) => {
        const ms = parseShift(value);
        if (ms !== undefined && ms !== 0 && Math.abs(ms) <= LONGEST_DELAY) return ms;
        context.issues.push({ code: "custom", message: SHIFT_RULE, input: value });
        return z.NEVER;
      }),
    )
    .check(
      z.meta({
        description:
          "A number of seconds, or a text such as `2h`; below 0 or after `-`, such as `-30m`, to make jobs earlier.",
      }),
    ),
);

const LONGER_RULE = "must be a duration longer than 0";
/** A duration in ms, at least 1 ms. */
export const longDuration = request(
  "DurationAbove0",
  durationWithin(z.gt(0, { error: LONGER_RULE }), LONGEST_DELAY, DURATION_RULE).check(
    z.refine((ms) => ms > 0, { error: LONGER_RULE }),
    z.meta({ description: `${WRITTEN} Longer than 0.` }),
  ),
);

/** A duration in ms, at most one day. */
export const shortDuration = request(
  "DurationUpTo1Day",
  durationWithin(NOT_NEGATIVE, DAY, "must be a duration of at most 1 day").check(
    z.meta({ description: WRITTEN }),
  ),
);

const WINDOW_RULE = `must be a duration of whole minutes, 1 to ${LONGEST_WINDOW_MINUTES}`;
const MINUTE = 60_000;
export const flexibleWindow = duration.check(
  z.refine((ms) => ms % MINUTE === 0 && ms >= MINUTE && ms <= LONGEST_WINDOW_MINUTES * MINUTE, {
    error: WINDOW_RULE,
  }),
  z.meta({ description: `Whole minutes, 1 to ${LONGEST_WINDOW_MINUTES}.` }),
);

// src/cron/ refuses what it cannot parse.
const EXPRESSION_RULE = `must be cron(…), rate(…) or at(…), or five fields of cron, of at most ${EXPRESSION_CHARS} characters`;
export const expression = z
  .string({ error: EXPRESSION_RULE })
  .check(z.maxLength(EXPRESSION_CHARS, { error: EXPRESSION_RULE }));
export const timezone = z.string({ error: "must be an IANA name such as Europe/Berlin or UTC" });

// The pattern lists ranges, because JSON Schema cannot express the flag `u` that `\p{Cc}` needs.
const CONTROLS = "\\u0000-\\u001f\\u007f-\\u009f";
const NO_CONTROLS = new RegExp(`^[^${CONTROLS}]*$`);

export function plainText(mostBytes: number) {
  const rule = `must be 1 to ${mostBytes} bytes of UTF-8 without control characters`;
  return z.string({ error: rule }).check(
    z.minLength(1, { error: rule }),
    // JSON Schema can bound the characters, which are never more than the bytes.
    z.maxLength(mostBytes, { error: rule }),
    z.regex(NO_CONTROLS, { error: rule }),
    z.refine((text) => Buffer.byteLength(text) <= mostBytes && text.isWellFormed(), { error: rule }),
    z.meta({ description: `At most ${mostBytes} bytes of UTF-8.` }),
  );
}

const REASON_RULE = `must be 1 to ${REASON_CHARS} characters without control characters`;
/** Why a caller changes something. */
export const reason = z.string({ error: REASON_RULE }).check(
  z.minLength(1, { error: REASON_RULE }),
  z.maxLength(REASON_CHARS, { error: REASON_RULE }),
  z.regex(NO_CONTROLS, { error: REASON_RULE }),
  z.meta({
    description: `Why, in plain text. The timelines of the changed jobs and the topic's pause show it: the first ${REASON_BYTES} bytes of UTF-8.`,
  }),
);

const HEADER_NAME_RULE = "is not a name of letters, digits and !#$%&'*+.^_`|~-, with one character or more";
const HEADER_VALUE_RULE = "must be text without control characters";
const HEADERS_RULE = `must be an object of names and values with at most ${HEADERS_BYTES} bytes as JSON`;

/** Two rules come before zod's record, which ignores the name `__proto__`, and overflows the stack if 100,000 names break a rule. */
export const headers = z
  .pipe(
    z.transform((value: unknown, context) => {
      if (typeof value === "object" && value !== null && Object.hasOwn(value, "__proto__")) {
        context.issues.push({ code: "custom", message: 'must not have the name "__proto__"', input: value });
      }
      if (Buffer.byteLength(JSON.stringify(value) ?? "") > HEADERS_BYTES) {
        context.issues.push({ code: "custom", message: HEADERS_RULE, input: value });
      }
      return value;
    }),
    z.record(
      matching(/^(?!__proto__$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, HEADER_NAME_RULE),
      matching(NO_CONTROLS, HEADER_VALUE_RULE).check(
        z.refine((text) => text.isWellFormed(), { error: HEADER_VALUE_RULE }),
      ),
      // Without a text of its own, a refused name would be told as too long headers.
      { error: ({ code }) => (code === "invalid_key" ? HEADER_NAME_RULE : HEADERS_RULE) },
    ),
  )
  .check(
    z.meta({ description: `All names and values together have at most ${HEADERS_BYTES} bytes as JSON.` }),
  );

export const body = z.unknown().check(
  z.refine((value) => value !== undefined, { error: "must be given: any JSON value" }),
  z.meta({ description: `Any JSON value. Its JSON text has at most ${BODY_BYTES / 1024} KiB of UTF-8.` }),
);
