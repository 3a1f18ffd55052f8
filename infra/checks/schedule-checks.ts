import { Token } from "aws-cdk-lib";
import { type Check, onlyFor, wholeNumber } from "../../src/core/check.ts";
import { BODY_BYTES, LONGEST_WINDOW_MINUTES, SCHEDULE_INPUT_BYTES } from "../../src/core/constants.ts";
import { messageOf } from "../../src/core/errors.ts";
import { JOB_OPTIONS, type JobOption } from "../../src/core/job-options.ts";
import { parseJson, toJson } from "../../src/core/json.ts";
import { lostByJson } from "../../src/core/kept-by-json.ts";
import { SCHEDULE_NAME, SCHEDULE_NAME_RULE } from "../../src/core/occurrence.ts";
import { schedulerExpression } from "../../src/cron/crontab.ts";
import { parseExpression } from "../../src/cron/expression.ts";
import { unknownNames } from "../../src/general/unknown-names.ts";
import { durationCheck, typeCheck } from "../../src/settings/form-checks.ts";
import { type AppDuration, insteadOfAppDuration, secondsOf } from "../app-duration.ts";
import { DECLARED_OPTIONS, declaredInput } from "../declared-schedule.ts";
import type { DelayQueueProps, ScheduleProps, TopicProps } from "../props.ts";

type Schedules = DelayQueueProps["schedules"];

const NAMES = ["topic", "expression", "timezone", "body", "flexibleWindow", "paused", ...DECLARED_OPTIONS];
const JSON_VALUES = "text, numbers, true, false, null, lists and objects";
const PLAIN = /^\P{Cc}+$/u;

/** Only plain JavaScript can give an unknown name. */
export function unknownScheduleProps(schedules: Schedules = {}): string[] {
  return Object.entries(schedules).flatMap(([name, schedule]) =>
    unknownNames(`schedules.${name}`, "prop", schedule, NAMES),
  );
}

/** The rules of the API for a schedule. A template does not know when it is deployed, so it has no rate, start or end. */
export function scheduleChecks(
  path: string,
  { schedules = {}, topics = {} }: Pick<DelayQueueProps, "schedules" | "topics">,
): Check[] {
  return Object.entries(schedules).flatMap(([name, given]) => {
    // Plain JavaScript may give null.
    const schedule = Object(given) as ScheduleProps;
    const at = `schedules.${name}`;
    const topic = Object.hasOwn(topics, schedule.topic) ? topics[schedule.topic] : undefined;
    return [
      {
        holds: SCHEDULE_NAME.test(name),
        rule: "a schedule's name must fit into EventBridge Scheduler",
        actual: name,
        allowed: SCHEDULE_NAME_RULE,
      },
      {
        holds: topic !== undefined,
        rule: `${at}.topic must be a topic of the queue`,
        actual: schedule.topic,
        allowed: Object.keys(topics).join(" or "),
      },
      expressionCheck(at, schedule),
      ...bodyChecks(path, at, name, schedule),
      windowCheck(`${at}.flexibleWindow`, schedule.flexibleWindow),
      typeCheck(`${at}.paused`, schedule.paused, { types: ["boolean"], allowed: "a value without quotes" }),
      ...DECLARED_OPTIONS.map((option) => optionCheck(`${at}.${option}`, option, schedule[option])),
      ...(topic ? topicChecks(at, schedule, topic) : []),
    ];
  });
}

/**
 * A sentence for each schedule that never occurs after `now`: ms since the epoch. Such a schedule is not refused, because a deployed one gets old
 * with its last year, and must not block later deployments.
 */
export function endedSchedules(
  { schedules = {} }: Pick<DelayQueueProps, "schedules">,
  now: number,
): string[] {
  return Object.entries(schedules)
    .filter(
      ([, { expression, timezone = "UTC" }]) =>
        parseExpression(schedulerExpression(expression), { timezone }).next(now) === undefined,
    )
    .map(
      ([name, { expression }]) =>
        `schedule "${name}" files no more jobs, because ${expression} has no occurrence after ${new Date(now).toISOString()}. ` +
        "Remove the schedule, or give it a later year",
    );
}

const ONLY_CRON = "expression must be a cron expression, because a template does not know when a rate begins";

function expressionCheck(at: string, { expression, timezone = "UTC" }: ScheduleProps): Check {
  const fault = expressionFault(expression, timezone);
  if (fault?.startsWith("timezone")) {
    const rule = `${at}.timezone must be an IANA name such as Europe/Berlin or UTC`;
    const [hint = ""] = /; did you mean .*$/.exec(fault) ?? [];
    return { holds: false, rule, actual: timezone, allowed: `a name of the time zone database${hint}` };
  }
  return {
    holds: fault === undefined,
    rule: `${at}.${fault ?? ONLY_CRON}`,
    actual: expression,
    allowed:
      "the five fields of cron, such as */15 * * * * for every 15 minutes, cron(…), or a name such as @daily, in an IANA time zone",
  };
}

/** Begins with the name of the prop. */
function expressionFault(expression: unknown, timezone: string): string | undefined {
  try {
    // Plain JavaScript may give no text.
    const written = typeof expression === "string" ? schedulerExpression(expression) : "";
    if (!written.startsWith("cron(")) return ONLY_CRON;
    const next = parseExpression(written, { timezone }).next(0);
    return next === undefined ? "expression must have an occurrence" : undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

function bodyChecks(path: string, at: string, name: string, schedule: ScheduleProps): Check[] {
  const { body } = schedule;
  const lost = lostByJson({ [`${at}.body`]: body });
  if (lost) {
    const rule = `${lost.at} must be a value that JSON keeps`;
    return [{ holds: false, rule, actual: lost.what, allowed: JSON_VALUES }];
  }
  const fault = jsonFault(body);
  if (fault !== undefined) {
    const rule = `${at}.body must be a value that JSON can represent`;
    return [{ holds: false, rule, actual: fault, allowed: JSON_VALUES }];
  }
  if (body === undefined)
    return [{ holds: false, rule: `${at}.body must be given`, actual: body, allowed: "any JSON value" }];
  const text = toJson(body);
  const input = declaredInput(path, name, schedule);
  return [
    {
      holds: !hasToken(body),
      rule: `${at}.body must be known when the app is synthesised`,
      actual: body,
      allowed: "a value that JSON can hold, without tokens",
    },
    {
      holds: Buffer.byteLength(text) <= BODY_BYTES && Buffer.byteLength(input) <= SCHEDULE_INPUT_BYTES,
      rule: `${at}.body must fit into EventBridge Scheduler, which keeps each < as six bytes`,
      actual: `${Buffer.byteLength(text)} bytes`,
      allowed: `${BODY_BYTES} bytes of JSON, and ${SCHEDULE_INPUT_BYTES} bytes in EventBridge Scheduler`,
    },
  ];
}

/** Why the API would not take this body: a structure that contains itself, or has too many levels. */
function jsonFault(body: unknown): string | undefined {
  try {
    if (body !== undefined) parseJson(toJson(body));
    return undefined;
  } catch (error) {
    return messageOf(error).split("\n", 1)[0];
  }
}

/** A token may be a text, a number or an object, whose `toJSON` hides it. The name of a field may have one too. */
function hasToken(body: unknown): boolean {
  const values: unknown[] = [];
  const text = JSON.stringify({ body }, function (this: Record<string, unknown>, name, value) {
    values.push(this[name]);
    return value;
  });
  return Token.isUnresolved(text) || values.some((value) => Token.isUnresolved(value));
}

function windowCheck(at: string, window: AppDuration | undefined): Check {
  const allowed = insteadOfAppDuration(window);
  if (allowed !== undefined) return durationCheck(at, window, allowed);
  const minutes = window === undefined ? undefined : secondsOf(window) / 60;
  return { ...wholeNumber(at, minutes, 1, LONGEST_WINDOW_MINUTES), rule: `${at} must be whole minutes` };
}

function optionCheck(at: string, name: JobOption, value: unknown): Check {
  const option = JOB_OPTIONS[name];
  switch (option.kind) {
    case "count":
      return wholeNumber(at, value as number, option.least, option.most);
    case "duration": {
      const allowed = insteadOfAppDuration(value);
      if (allowed !== undefined) return durationCheck(at, value, allowed);
      const ms = value === undefined ? undefined : secondsOf(value as AppDuration) * 1000;
      return wholeNumber(at, ms, "isLongerThan0" in option ? 1 : 0, option.most);
    }
    case "ascii":
      return textCheck(at, value, new RegExp(`^[!-~]{1,${option.mostChars}}$`), option.mostChars);
    case "text":
      return textCheck(at, value, PLAIN, option.mostBytes);
    default:
      throw new Error(`schedules cannot declare ${name}`);
  }
}

function textCheck(at: string, actual: unknown, pattern: RegExp, mostBytes: number): Check {
  const isText = typeof actual === "string" && pattern.test(actual) && Buffer.byteLength(actual) <= mostBytes;
  const holds = actual === undefined || (isText && actual.isWellFormed());
  return {
    holds,
    rule: `${at} must be text without control characters`,
    actual,
    allowed: `${mostBytes} bytes`,
  };
}

/** What the topic's consumer and tracking allow. */
function topicChecks(at: string, schedule: ScheduleProps, { webhook, tracking }: TopicProps): Check[] {
  const { expiresAfter, maxAttempts = 0 } = schedule;
  const { mostAttempts = maxAttempts } = webhook ?? {};
  return [
    onlyFor("a tracked topic", tracking !== "none", `${at}.expiresAfter`, expiresAfter),
    {
      holds: webhook === undefined || webhook.url !== undefined,
      rule: `${at}.topic needs webhook.url, because a declared schedule names no receiver`,
      actual: webhook?.url,
      allowed: "a URL in webhook.url",
    },
    {
      holds: maxAttempts <= mostAttempts,
      rule: `${at}.maxAttempts must be at most the topic's webhook.mostAttempts`,
      actual: maxAttempts,
      allowed: `at most ${mostAttempts}`,
    },
  ];
}
