import * as z from "zod/mini";
import { parseExpression, type Recurrence } from "../../src/cron/expression.ts";
import { errorText } from "../local-error.ts";
import { AwsError } from "./aws-error.ts";

/** https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html; times are s since the epoch. */
const NAME = z
  .string()
  .check(z.regex(/^[0-9a-zA-Z-_.]{1,64}$/, "must be 1 to 64 letters, digits and any of -_."));
const ARN = z.string().check(z.regex(/^arn:aws[a-z-]*:\S+$/, "must be an ARN"));
const ROLE_ARN = z
  .string()
  .check(z.regex(/^arn:aws(-[a-z]+)?:iam::\d{12}:role\/[\w+=,.@/-]+$/, "must be the ARN of a role"));
/** CreateSchedule rejects an older start date. */
const MAX_START_AGE_MS = 5 * 60_000;
const whole = (min: number, max: number) => z.int().check(z.minimum(min), z.maximum(max));

const schedule = z.object({
  Name: NAME,
  GroupName: z._default(NAME, "default"),
  ScheduleExpression: z.string().check(z.minLength(1), z.maxLength(256)),
  ScheduleExpressionTimezone: z._default(z.string().check(z.maxLength(50)), "UTC"),
  StartDate: z.optional(z.number()),
  EndDate: z.optional(z.number()),
  Description: z.optional(z.string().check(z.maxLength(512))),
  State: z._default(z.enum(["ENABLED", "DISABLED"]), "ENABLED"),
  ActionAfterCompletion: z._default(z.enum(["NONE", "DELETE"]), "NONE"),
  FlexibleTimeWindow: z.discriminatedUnion("Mode", [
    z.object({ Mode: z.literal("OFF"), MaximumWindowInMinutes: z.optional(z.undefined()) }),
    z.object({ Mode: z.literal("FLEXIBLE"), MaximumWindowInMinutes: whole(1, 1440) }),
  ]),
  Target: z.object({
    Arn: ARN,
    RoleArn: ROLE_ARN,
    Input: z.optional(z.string().check(z.refine(isJson, "must be JSON for a function"))),
    RetryPolicy: z._default(
      z.object({
        MaximumEventAgeInSeconds: z._default(whole(60, 86_400), 86_400),
        MaximumRetryAttempts: z._default(whole(0, 185), 185),
      }),
      { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 },
    ),
    DeadLetterConfig: z.optional(z.object({ Arn: z.optional(ARN) })),
  }),
  ClientToken: z.optional(z.string()),
});

export type ScheduleRequest = z.infer<typeof schedule>;

/** Throws an `AwsError` with ValidationException, also if an update repeats the schedule's own date of over 5 minutes ago. `now`: ms. */
export function readScheduleRequest(name: string, body: unknown, now: number): ScheduleRequest {
  const request = validate(schedule, { ...(typeof body === "object" ? body : {}), Name: name });
  const { StartDate = Infinity, EndDate = Infinity } = request;
  if (StartDate * 1000 < now - MAX_START_AGE_MS)
    throw invalid("StartDate", "cannot be earlier than 5 minutes ago");
  if (request.StartDate !== undefined && StartDate >= EndDate)
    throw invalid("StartDate", "must be earlier than the EndDate");
  try {
    recurrenceOf(request, 0);
  } catch (error) {
    throw invalid("ScheduleExpression", errorText(error));
  }
  return request;
}

/** Without a start date `rate` counts from `createdAt`, ms since the epoch. */
export function recurrenceOf(request: ScheduleRequest, createdAt: number): Recurrence {
  const { ScheduleExpression, ScheduleExpressionTimezone, StartDate, EndDate } = request;
  const start = StartDate === undefined ? {} : { start: StartDate * 1000 };
  return parseExpression(ScheduleExpression, {
    timezone: ScheduleExpressionTimezone,
    anchor: start.start ?? createdAt,
    ...start,
    ...(EndDate === undefined ? {} : { end: EndDate * 1000 }),
  });
}

/** Throws an `AwsError` with ValidationException. */
export function readResourceName(name: unknown): string {
  return validate(z.object({ Name: NAME }), { Name: name }).Name;
}

const page = z.object({
  GroupName: z.optional(NAME),
  NamePrefix: z._default(z.string(), ""),
  State: z.optional(z.enum(["ENABLED", "DISABLED"])),
  /** The key after which the page begins. */
  NextToken: z._default(z.string(), ""),
  MaxResults: z._default(whole(1, 100), 100),
});

/** Validates the query of ListSchedules or ListScheduleGroups. ListSchedules calls the group's name `ScheduleGroup`. */
export function readListRequest(query: URLSearchParams): z.infer<typeof page> {
  const { ScheduleGroup: GroupName, MaxResults, ...others } = Object.fromEntries(query);
  return validate(page, {
    ...others,
    ...(GroupName === undefined ? {} : { GroupName }),
    ...(MaxResults === undefined ? {} : { MaxResults: Number(MaxResults) }),
  });
}

function validate<S extends z.core.$ZodType>(schema: S, value: unknown): z.infer<S> {
  const { success, data, error } = z.safeParse(schema, value);
  if (success) return data;
  const [issue] = error.issues;
  throw invalid(issue?.path.join(".") ?? "", issue?.message ?? "");
}

function invalid(member: string, rule: string): AwsError {
  return new AwsError("ValidationException", 400, `1 validation error detected: ${member}: ${rule}`);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
