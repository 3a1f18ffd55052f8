import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  CreateScheduleGroupCommand,
  GetScheduleCommand,
  type GetScheduleCommandOutput,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { createEach, type Refusal } from "./create-each.ts";
import type { ScheduleSpec } from "./resources.ts";

/** Creates the groups that are not there, then the schedules, and brings those that are there up to date. */
export async function createSchedules(
  groups: readonly string[],
  schedules: readonly ScheduleSpec[],
  client: SchedulerClient,
): Promise<Refusal[]> {
  const named = groups.map((name) => ({ name }));
  const first = await createEach("schedule group", named, ({ name }) => createGroup(name, client));
  const then = await createEach("schedule", schedules, (spec) => createSchedule(inputOf(spec), client));
  return [...first, ...then];
}

async function createGroup(Name: string, client: SchedulerClient): Promise<void> {
  try {
    await client.send(new CreateScheduleGroupCommand({ Name }));
  } catch (error) {
    if (!(error instanceof ConflictException)) throw error;
  }
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
  const current = await find(input, client);
  // One that is there may have begun long ago, with which none can be created.
  if (current === undefined) await client.send(new CreateScheduleCommand(input));
  else if (!contains(current, input)) await client.send(new UpdateScheduleCommand(input));
}

async function find(
  { Name, GroupName }: CreateScheduleCommandInput,
  client: SchedulerClient,
): Promise<GetScheduleCommandOutput | undefined> {
  try {
    return await client.send(new GetScheduleCommand({ Name, GroupName }));
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
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
