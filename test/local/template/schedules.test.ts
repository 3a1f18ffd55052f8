import { CreateScheduleCommand, GetScheduleCommand, ListSchedulesCommand } from "@aws-sdk/client-scheduler";
import { expect, test } from "vitest";
import { createSchedules } from "../../../local/template/schedules.ts";
import { schedulerForEach } from "../services/scheduler-client.ts";

const NOON = Date.UTC(2026, 2, 12, 12);

const scheduler = schedulerForEach(NOON);

const daily = (hour: number) => ({
  name: "daily",
  properties: {
    GroupName: "jobs",
    ScheduleExpression: `cron(0 ${hour} * * ? *)`,
    StartDate: "2026-03-13T00:00:00.000Z",
    FlexibleTimeWindow: { Mode: "OFF" },
    Target: {
      Arn: "arn:aws:lambda:us-east-1:000000000000:function:tick",
      RoleArn: "arn:aws:iam::000000000000:role/scheduler",
    },
  },
});
const kept = () => scheduler.client.send(new GetScheduleCommand({ GroupName: "jobs", Name: "daily" }));

test("a template's schedule is created once, and updated only if the template has changed", async () => {
  await createSchedules(["jobs"], [daily(9)], scheduler.client);
  await scheduler.clock.advanceTo(NOON + 1000);
  await createSchedules(["jobs"], [daily(9)], scheduler.client);
  expect(await kept()).toMatchObject({
    ScheduleExpression: "cron(0 9 * * ? *)",
    StartDate: new Date("2026-03-13T00:00:00.000Z"),
    LastModificationDate: new Date(NOON),
  });
  await createSchedules(["jobs"], [daily(10)], scheduler.client);
  expect(await kept()).toMatchObject({
    ScheduleExpression: "cron(0 10 * * ? *)",
    LastModificationDate: new Date(NOON + 1000),
  });
});

test("a rejected schedule is named and the others are created; an existing schedule may have an old start date", async () => {
  const begun = { ...daily(9), name: "begun" };
  begun.properties = { ...begun.properties, StartDate: "2020-01-01T00:00:00.000Z" };
  expect(await createSchedules(["jobs"], [begun, daily(9)], scheduler.client)).toEqual([
    { kind: "schedule", name: "begun", reason: expect.stringContaining("StartDate") },
  ]);
  await scheduler.clock.advanceTo(Date.UTC(2026, 2, 14));
  expect(await createSchedules(["jobs"], [daily(9)], scheduler.client)).toEqual([]);
});

test("a schedule that the template no longer declares is deleted, and one that a call has made stays", async () => {
  const { properties } = daily(9);
  await createSchedules(["jobs"], [daily(9), { ...daily(9), name: "weekly" }], scheduler.client);
  const made = {
    ...properties,
    Name: "made",
    StartDate: undefined,
    FlexibleTimeWindow: { Mode: "OFF" },
  } as const;
  await scheduler.client.send(new CreateScheduleCommand(made));
  await createSchedules(["jobs"], [daily(9)], scheduler.client);
  const { Schedules = [] } = await scheduler.client.send(new ListSchedulesCommand({ GroupName: "jobs" }));
  expect(Schedules.map(({ Name }) => Name).sort()).toEqual(["daily", "made"]);
});
