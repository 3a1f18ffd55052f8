import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  CreateScheduleGroupCommand,
  DeleteScheduleCommand,
  DeleteScheduleGroupCommand,
  GetScheduleCommand,
  GetScheduleGroupCommand,
  ListScheduleGroupsCommand,
  ListSchedulesCommand,
  ResourceNotFoundException,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { expect, test } from "vitest";
import { schedulerForEach } from "./scheduler-client.ts";

const NOON = Date.UTC(2026, 2, 12, 12);
const FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:promote";
const ROLE = "arn:aws:iam::000000000000:role/scheduler";

const scheduler = schedulerForEach(NOON);

const request = (more: Partial<CreateScheduleCommandInput> = {}): CreateScheduleCommandInput => ({
  Name: "one",
  ScheduleExpression: "at(2026-03-13T00:00:00)",
  FlexibleTimeWindow: { Mode: "OFF" },
  Target: { Arn: FUNCTION, RoleArn: ROLE, Input: '{"id":"1"}' },
  ...more,
});
const create = (more?: Partial<CreateScheduleCommandInput>) =>
  scheduler.client.send(new CreateScheduleCommand(request(more)));
const list = async (more: { NextToken?: string; [name: string]: unknown } = {}) => {
  const { Schedules = [], NextToken } = await scheduler.client.send(new ListSchedulesCommand(more));
  return { names: Schedules.map(({ Name }) => Name), NextToken };
};

test("GetSchedule answers the created schedule with the service's defaults", async () => {
  const StartDate = new Date(NOON + 1000);
  const { ScheduleArn } = await create({ ScheduleExpression: "rate(5 minutes)", StartDate });
  expect(ScheduleArn).toBe("arn:aws:scheduler:us-east-1:000000000000:schedule/default/one");
  const { $metadata, ...answer } = await scheduler.client.send(new GetScheduleCommand({ Name: "one" }));
  expect(answer).toEqual({
    ActionAfterCompletion: "NONE",
    Arn: ScheduleArn,
    CreationDate: new Date(NOON),
    FlexibleTimeWindow: { Mode: "OFF" },
    GroupName: "default",
    LastModificationDate: new Date(NOON),
    Name: "one",
    ScheduleExpression: "rate(5 minutes)",
    ScheduleExpressionTimezone: "UTC",
    StartDate,
    State: "ENABLED",
    Target: {
      Arn: FUNCTION,
      RoleArn: ROLE,
      Input: '{"id":"1"}',
      RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 },
    },
  });
});

test("a name can be used only once, but creating is idempotent by its token", async () => {
  const first = await create({ ClientToken: "token" });
  expect(await create({ ClientToken: "token" })).toMatchObject({ ScheduleArn: first.ScheduleArn });
  const again = create({ ClientToken: "another" });
  await expect(again).rejects.toThrow(ConflictException);
  await expect(again).rejects.toMatchObject({ $metadata: { httpStatusCode: 409 } });
});

test("an update replaces everything but the time of creation", async () => {
  await create({ Description: "first" });
  await scheduler.clock.advanceTo(NOON + 1000);
  await scheduler.client.send(new UpdateScheduleCommand(request({ State: "DISABLED" })));
  const answer = await scheduler.client.send(new GetScheduleCommand({ Name: "one" }));
  expect(answer).toMatchObject({
    State: "DISABLED",
    CreationDate: new Date(NOON),
    LastModificationDate: new Date(NOON + 1000),
  });
  expect(answer.Description).toBeUndefined();
});

test("a deleted schedule is not found", async () => {
  await create();
  await scheduler.client.send(new DeleteScheduleCommand({ Name: "one" }));
  const lost = [
    new GetScheduleCommand({ Name: "one" }),
    new DeleteScheduleCommand({ Name: "one" }),
    new UpdateScheduleCommand(request()),
  ].map((command) => scheduler.client.send(command as GetScheduleCommand));
  for (const answer of lost) await expect(answer).rejects.toThrow(ResourceNotFoundException);
});

test("a schedule's group must exist, and deleting a group deletes its schedules", async () => {
  await expect(create({ GroupName: "jobs" })).rejects.toThrow(ResourceNotFoundException);
  await scheduler.client.send(new CreateScheduleGroupCommand({ Name: "jobs" }));
  await expect(scheduler.client.send(new CreateScheduleGroupCommand({ Name: "jobs" }))).rejects.toThrow(
    ConflictException,
  );
  await create({ GroupName: "jobs" });
  expect(await scheduler.client.send(new GetScheduleGroupCommand({ Name: "jobs" }))).toMatchObject({
    State: "ACTIVE",
  });
  await scheduler.client.send(new DeleteScheduleGroupCommand({ Name: "jobs" }));
  expect(await list()).toEqual({ names: [] });
  const { ScheduleGroups = [] } = await scheduler.client.send(new ListScheduleGroupsCommand({}));
  expect(ScheduleGroups.map(({ Name }) => Name)).toEqual(["default"]);
});

test("a list is filtered by group, prefix and state, and split into pages", async () => {
  await scheduler.client.send(new CreateScheduleGroupCommand({ Name: "jobs" }));
  for (const Name of ["b1", "b3", "a1", "b2"]) await create({ Name, GroupName: "jobs" });
  await create({ Name: "b9" });
  await create({ Name: "off", GroupName: "jobs", State: "DISABLED" });
  expect(await list({ GroupName: "jobs", State: "DISABLED" })).toEqual({ names: ["off"] });
  const { NextToken = "", names } = await list({ GroupName: "jobs", NamePrefix: "b", MaxResults: 2 });
  expect(names).toEqual(["b1", "b2"]);
  expect(await list({ GroupName: "jobs", NamePrefix: "b", MaxResults: 2, NextToken })).toEqual({
    names: ["b3"],
  });
});

test.each([
  ["ScheduleExpression", { ScheduleExpression: "cron(* * * * *)" }],
  ["ScheduleExpression", { ScheduleExpression: "at(2026-02-30T00:00:00)" }],
  ["timezone", { ScheduleExpressionTimezone: "Mars/Olympus" }],
  ["Name", { Name: "no space" }],
  ["Name", { Name: "x".repeat(65) }],
  ["FlexibleTimeWindow", { FlexibleTimeWindow: { Mode: "FLEXIBLE" as const } }],
  ["FlexibleTimeWindow", { FlexibleTimeWindow: { Mode: "OFF" as const, MaximumWindowInMinutes: 5 } }],
  ["StartDate", { StartDate: new Date(NOON), EndDate: new Date(NOON) }],
  ["StartDate", { StartDate: new Date(NOON - 301_000) }],
  ["Target.RoleArn", { Target: { Arn: FUNCTION, RoleArn: FUNCTION } }],
  ["Target.Arn", { Target: { Arn: "promote", RoleArn: ROLE } }],
  ["Target.Input", { Target: { Arn: FUNCTION, RoleArn: ROLE, Input: "{" } }],
  [
    "MaximumRetryAttempts",
    { Target: { Arn: FUNCTION, RoleArn: ROLE, RetryPolicy: { MaximumRetryAttempts: 186 } } },
  ],
])("an invalid %s is rejected, and the error names it", async (member, more) => {
  const answer = create(more);
  await expect(answer).rejects.toThrow(member);
  await expect(answer).rejects.toMatchObject({
    name: "ValidationException",
    $metadata: { httpStatusCode: 400 },
  });
  expect(await list()).toEqual({ names: [] });
});

test("the error names an operation that is not played", async () => {
  const response = await fetch(`${scheduler.endpoint.url}/tags/x`);
  expect([response.status, await response.text()]).toEqual([
    404,
    '{"__type":"UnknownOperationException","Message":"the local stack does not play GET /tags/x"}',
  ]);
});
