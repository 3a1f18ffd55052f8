import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ListSchedulesCommand,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
  type UpdateScheduleCommandInput,
  ValidationException,
} from "@aws-sdk/client-scheduler";
import { MinutehandError } from "../core/errors.ts";
import { occurrenceInput, type Schedule, storedInput } from "../core/occurrence.ts";
import type { Schedules, StoredSchedule } from "../protocol/ports.ts";
import type { ScheduleTarget } from "./schedule-target.ts";
import { unavailable } from "./unknown.ts";

const MINUTE = 60_000;

type Settings = { readonly client: SchedulerClient; readonly target: ScheduleTarget };

/** The recurring schedules on EventBridge Scheduler, in a group that holds nothing else. */
export function schedulerSchedules(settings: Settings): Schedules {
  const { client, target } = settings;
  return {
    create: (schedule, from) =>
      callScheduler("create", async () => {
        try {
          await client.send(new CreateScheduleCommand(requestOf(schedule, from, target)));
          return "created";
        } catch (thrown) {
          if (thrown instanceof ConflictException) return "exists";
          throw thrown;
        }
      }),
    async update(schedule, from) {
      const command = new UpdateScheduleCommand(requestOf(schedule, from, target));
      return (await callScheduler("update", () => undefinedIfMissing(client.send(command))))
        ? "updated"
        : "missing";
    },
    read: (name) => read(name, settings),
    async remove(name) {
      const command = new DeleteScheduleCommand({ GroupName: target.group, Name: name });
      return (await callScheduler("delete", () => undefinedIfMissing(client.send(command))))
        ? "removed"
        : "missing";
    },
    list: (limit, cursor) => callScheduler("list", () => list(limit, cursor, settings)),
  };
}

async function read(name: string, { client, target }: Settings): Promise<StoredSchedule | undefined> {
  const command = new GetScheduleCommand({ GroupName: target.group, Name: name });
  const found = await callScheduler("read", () => undefinedIfMissing(client.send(command)));
  const stored = storedInput(found?.Target?.Input ?? "");
  // Or another program has created it in the group.
  if (!found || !stored) return undefined;
  const minutes = found.FlexibleTimeWindow?.MaximumWindowInMinutes;
  const schedule = {
    name,
    expression: found.ScheduleExpression ?? "",
    timezone: found.ScheduleExpressionTimezone ?? "UTC",
    paused: found.State === "DISABLED",
    ...(minutes === undefined ? {} : { flexibleWindow: minutes * MINUTE }),
    ...stored,
    // The template of a declared schedule does not know when it is deployed.
    ...(stored.declared === undefined
      ? {}
      : { createdAt: found.CreationDate?.getTime() ?? stored.createdAt }),
  };
  const { Arn, RoleArn, DeadLetterConfig } = found.Target ?? {};
  const isAimed = Arn === target.target && RoleArn === target.role && DeadLetterConfig?.Arn === target.dlq;
  return { schedule, isAimed, changedAt: found.LastModificationDate?.getTime() ?? 0 };
}

async function list(limit: number, cursor: string | undefined, { client, target }: Settings) {
  const command = new ListSchedulesCommand({
    GroupName: target.group,
    MaxResults: limit,
    ...(cursor === undefined ? {} : { NextToken: cursor }),
  });
  const { Schedules: some = [], NextToken } = await client.send(command);
  const names = some.map(({ Name = "" }) => Name);
  return { names, ...(NextToken === undefined ? {} : { cursor: NextToken }) };
}

function requestOf(
  schedule: Schedule,
  from: number | undefined,
  { group, target, role, dlq }: ScheduleTarget,
): UpdateScheduleCommandInput {
  const { name, expression, timezone, end, flexibleWindow, paused } = schedule;
  return {
    GroupName: group,
    Name: name,
    ScheduleExpression: expression,
    ScheduleExpressionTimezone: timezone,
    ...(from === undefined ? {} : { StartDate: new Date(from) }),
    // Scheduler requires an end after the start. With one occurrence left, both are at its time.
    ...(end === undefined ? {} : { EndDate: new Date(Math.max(end, (from ?? 0) + 1000)) }),
    State: paused ? "DISABLED" : "ENABLED",
    FlexibleTimeWindow:
      flexibleWindow === undefined
        ? { Mode: "OFF" }
        : { Mode: "FLEXIBLE", MaximumWindowInMinutes: flexibleWindow / MINUTE },
    Target: {
      Arn: target,
      RoleArn: role,
      Input: occurrenceInput(schedule),
      ...(dlq === undefined ? {} : { DeadLetterConfig: { Arn: dlq } }),
    },
  };
}

async function undefinedIfMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof ResourceNotFoundException) return undefined;
    throw thrown;
  }
}

async function callScheduler<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    if (thrown instanceof ValidationException) {
      throw new MinutehandError(
        "bad-request",
        `EventBridge Scheduler refuses the schedule: ${thrown.message}`,
        {},
        thrown,
      );
    }
    throw unavailable(`EventBridge Scheduler did not ${what} a schedule`, thrown);
  }
}
