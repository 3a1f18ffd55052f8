import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  CreateScheduleGroupCommand,
  GetScheduleCommand,
  type SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import type { ScheduleSpec } from "./resources.ts";

/** Creates the groups that are not there, then the schedules, and brings those that are there up to date. */
export async function createSchedules(
  groups: readonly string[],
  schedules: readonly ScheduleSpec[],
  client: SchedulerClient,
): Promise<void> {
  await Promise.all(
    groups.map((Name) => isThere(() => client.send(new CreateScheduleGroupCommand({ Name })))),
  );
  await Promise.all(schedules.map((schedule) => createSchedule(inputOf(schedule), client)));
}

function inputOf({ name, properties }: ScheduleSpec): CreateScheduleCommandInput {
  const { StartDate, EndDate, ...others } = properties;
  return {
    ...others,
    Name: name,
    ...(StartDate ? { StartDate: new Date(String(StartDate)) } : {}),
    ...(EndDate ? { EndDate: new Date(String(EndDate)) } : {}),
  } as CreateScheduleCommandInput;
}

async function createSchedule(input: CreateScheduleCommandInput, client: SchedulerClient): Promise<void> {
  if (!(await isThere(() => client.send(new CreateScheduleCommand(input))))) return;
  const { Name, GroupName } = input;
  const current = await client.send(new GetScheduleCommand({ Name, GroupName }));
  if (!contains(current, input)) await client.send(new UpdateScheduleCommand(input));
}

/** Whether it was there before. */
async function isThere(create: () => Promise<unknown>): Promise<boolean> {
  try {
    await create();
    return false;
  } catch (error) {
    if (error instanceof ConflictException) return true;
    throw error;
  }
}

/** Whether all that is wanted is so already; the service adds its defaults. */
function contains(current: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null || wanted instanceof Date)
    return JSON.stringify(current) === JSON.stringify(wanted);
  const known = (typeof current === "object" ? current : undefined) as Record<string, unknown> | undefined;
  return Object.entries(wanted).every(([key, value]) => contains(known?.[key], value));
}
