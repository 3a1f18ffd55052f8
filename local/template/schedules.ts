import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  CreateScheduleGroupCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  type GetScheduleCommandOutput,
  paginateListSchedules,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
} from "@aws-sdk/client-scheduler";
import { createEach, type Refusal } from "./create-each.ts";
import type { ScheduleSpec } from "./resources.ts";

/** Marks a schedule that the template declares. Others of its group were made by calls, and stay when they are not in the template. */
const DECLARED = "declared by the template of the local stack";

/**
 * Creates missing groups and schedules, updates schedules that differ, and deletes schedules that an earlier template declared. Answers those
 * that EventBridge Scheduler rejects.
 */
export async function createSchedules(
  groups: readonly string[],
  schedules: readonly ScheduleSpec[],
  client: SchedulerClient,
): Promise<Refusal[]> {
  const named = groups.map((name) => ({ name }));
  const refusedGroups = await createEach("schedule group", named, ({ name }) => createGroup(name, client));
  const refusedSchedules = await createEach("schedule", schedules, (spec) =>
    createOrUpdateSchedule(inputOf(spec), client),
  );
  const kept = new Set(schedules.map(({ name }) => name));
  const refusedLists = await createEach("schedule group", named, ({ name }) =>
    removeOthers(name, kept, client),
  );
  return [...refusedGroups, ...refusedSchedules, ...refusedLists];
}

async function removeOthers(
  group: string,
  kept: ReadonlySet<string>,
  client: SchedulerClient,
): Promise<void> {
  for await (const { Schedules = [] } of paginateListSchedules({ client }, { GroupName: group }))
    for (const { Name } of Schedules) {
      if (Name === undefined || kept.has(Name)) continue;
      const found = await findSchedule({ Name, GroupName: group }, client);
      if (found?.Description === DECLARED)
        await client.send(new DeleteScheduleCommand({ Name, GroupName: group }));
    }
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
    Description: DECLARED,
    ...others,
    Name: name,
    ...(StartDate ? { StartDate: new Date(String(StartDate)) } : {}),
    ...(EndDate ? { EndDate: new Date(String(EndDate)) } : {}),
  } as CreateScheduleCommandInput;
}

async function createOrUpdateSchedule(
  input: CreateScheduleCommandInput,
  client: SchedulerClient,
): Promise<void> {
  const current = await findSchedule(input, client);
  // Scheduler would reject the old start date of a schedule from an earlier run, so an unchanged one is not sent again.
  if (current === undefined) await client.send(new CreateScheduleCommand(input));
  else if (!contains(current, input)) await client.send(new UpdateScheduleCommand(input));
}

async function findSchedule(
  { Name, GroupName }: Pick<CreateScheduleCommandInput, "Name" | "GroupName">,
  client: SchedulerClient,
): Promise<GetScheduleCommandOutput | undefined> {
  try {
    return await client.send(new GetScheduleCommand({ Name, GroupName }));
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}

/** Whether `current` has every wanted value. It may have more, because the service adds defaults. */
function contains(current: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null || wanted instanceof Date)
    return JSON.stringify(current) === JSON.stringify(wanted);
  const known = (typeof current === "object" ? current : undefined) as Record<string, unknown> | undefined;
  return Object.entries(wanted).every(([key, value]) => contains(known?.[key], value));
}
