import { afterEach, expect, test } from "vitest";
import { schedulerPromotions } from "../../src/aws/promotions.ts";
import { promotionsClient, schedulerClient } from "../../src/aws/scheduler-client.ts";
import { schedulerSchedules } from "../../src/aws/schedules.ts";
import { occurrenceInput, type Schedule } from "../../src/core/occurrence.ts";
import { useEndpoint } from "./emulators.ts";
import {
  type Answer,
  error,
  ok,
  type Request,
  type ScriptedService,
  scriptedService,
} from "./scripted-service.ts";

const target = {
  group: "minutehand-g",
  target: "arn:aws:lambda:us-east-1:123456789012:function:f",
  role: "arn:aws:iam::123456789012:role/r",
};
const TIME = Date.UTC(2027, 0, 2, 3, 4, 5, 678);
const schedule: Schedule = {
  name: "a",
  expression: "rate(1 hour)",
  timezone: "Europe/Berlin",
  start: TIME - 678,
  end: TIME + 9_322,
  anchor: TIME - 678,
  flexibleWindow: 300_000,
  paused: true,
  createdAt: TIME,
  job: { topic: "t", body: '"<"' },
};

let service: ScriptedService | undefined;
afterEach(() => service?.close());

async function on(script: (request: Request, count: number) => Answer) {
  service = await scriptedService(script);
  useEndpoint("SCHEDULER", service.endpoint);
  return {
    promotions: schedulerPromotions({ client: promotionsClient(), target }),
    schedules: schedulerSchedules({ client: schedulerClient(), target }),
    requests: service.requests,
  };
}
const arn = ok({ ScheduleArn: "arn:aws:scheduler:us-east-1:123456789012:schedule/minutehand-g/a" });

test("a promotion is a one-time schedule that is deleted when it has fired, and passes the job's id to its target", async () => {
  const { promotions, requests } = await on(() => arn);
  await promotions.put("ID", TIME);
  expect(requests).toEqual([
    {
      operation: "POST /schedules/ID",
      input: {
        ClientToken: expect.any(String),
        GroupName: "minutehand-g",
        ScheduleExpression: "at(2027-01-02T03:04:05)",
        ScheduleExpressionTimezone: "UTC",
        FlexibleTimeWindow: { Mode: "OFF" },
        ActionAfterCompletion: "DELETE",
        Target: {
          Arn: target.target,
          RoleArn: target.role,
          Input: '{"id":"ID"}',
          RetryPolicy: { MaximumEventAgeInSeconds: 300 },
        },
      },
    },
  ]);
});

test("a promotion that already exists is updated", async () => {
  const { promotions, requests } = await on((_, count) =>
    count === 1 ? error(409, "ConflictException") : arn,
  );
  await promotions.put("ID", TIME);
  expect(requests.map(({ operation }) => operation)).toEqual(["POST /schedules/ID", "PUT /schedules/ID"]);
});

test.each<[string, Answer]>([
  ["throttled", error(429, "ThrottlingException")],
  ["cut off", "cut"],
  ["never answered", "hang"],
])(
  "a call for a promotion that is %s fails after one try, because the sweep needs no promotion",
  async (_, answer) => {
    const { promotions, requests } = await on(() => answer);
    await expect(promotions.put("ID", TIME)).rejects.toThrow();
    await expect(promotions.remove("ID")).rejects.toThrow();
    expect(requests).toHaveLength(2);
  },
);

test("a recurring schedule is created with all its fields in one request", async () => {
  const { schedules, requests } = await on(() => arn);
  expect(await schedules.create(schedule, TIME + 60_000)).toBe("created");
  const fields = {
    ClientToken: expect.any(String),
    GroupName: "minutehand-g",
    ScheduleExpression: "rate(1 hour)",
    ScheduleExpressionTimezone: "Europe/Berlin",
    StartDate: (TIME + 60_000) / 1000,
    // The requested end lies before this start, and Scheduler requires an end after the start. So the end is a second after the start.
    EndDate: (TIME + 61_000) / 1000,
    State: "DISABLED",
    FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 5 },
    Target: {
      Arn: target.target,
      RoleArn: target.role,
      Input: expect.stringMatching(/^{"time":"<aws\.scheduler\.scheduled-time>",.*"body":"\\u003c"}}$/),
    },
  };
  expect(requests).toEqual([{ operation: "POST /schedules/a", input: fields }]);
});

test.each([
  ["another function", { Arn: `${target.target}-2` }],
  ["another role", { RoleArn: `${target.role}-2` }],
  ["a DLQ", { DeadLetterConfig: { Arn: "arn:aws:sqs:us-east-1:123456789012:q" } }],
])("`isAimed` is false for a schedule whose stored target has %s", async (_, other) => {
  const kept = { Arn: target.target, RoleArn: target.role, Input: occurrenceInput(schedule) };
  const { schedules } = await on((_request, count) =>
    ok({ Target: count === 1 ? kept : { ...kept, ...other } }),
  );
  expect(await schedules.read("a")).toMatchObject({ isAimed: true });
  expect(await schedules.read("a")).toMatchObject({ isAimed: false });
});

test("a schedule of the group that another program created is read as missing", async () => {
  const { schedules } = await on(() =>
    ok({ Name: "a", ScheduleExpression: "rate(1 hour)", Target: { Input: "{}" } }),
  );
  expect(await schedules.read("a")).toBeUndefined();
});

test("a schedule that Scheduler refuses throws `bad-request` with the reason, and a failed call throws `unavailable`", async () => {
  const refused = await on(() => error(400, "ValidationException"));
  await expect(refused.schedules.create(schedule, undefined)).rejects.toMatchObject({
    code: "bad-request",
    message: "EventBridge Scheduler refuses the schedule: scripted ValidationException",
  });
  await service?.close();
  for (const answer of [
    error(429, "ThrottlingException"),
    error(500, "InternalServerException"),
    "cut",
  ] as const) {
    const { schedules, requests } = await on(() => answer);
    await expect(schedules.read("a")).rejects.toMatchObject({ code: "unavailable" });
    expect(requests).toHaveLength(3);
    await service?.close();
  }
  service = undefined;
});
