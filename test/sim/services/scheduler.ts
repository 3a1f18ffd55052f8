import {
  ConflictException,
  type CreateScheduleCommandInput,
  ResourceNotFoundException,
} from "@aws-sdk/client-scheduler";
import { type Service, serviceOf } from "./service.ts";

type Schedule = CreateScheduleCommandInput & { readonly from: number };

type Named = Pick<CreateScheduleCommandInput, "GroupName" | "Name">;

/** For each time that an occurrence reaches its target, how many ms after the occurrence's time. An empty list: never. */
export type Firings = readonly number[];

/** EventBridge Scheduler, but only with the expressions `at` and `rate` in minutes. */
export type Scheduler = Service & {
  /** One-time schedules that have fired but still exist. */
  completed(): string[];
};

const MINUTE = 60_000;
const REFUSED = { $metadata: {}, message: "simulated" };

export function simulatedScheduler(settings: {
  clock: () => number;
  at: (time: number, act: () => void) => void;
  firingsOf: (target: string, name: string, time: number) => Firings;
  fire: (target: string, name: string, input: string) => void;
}): Scheduler {
  const { clock, at, firingsOf, fire } = settings;
  const schedules = new Map<string, Schedule>();
  const completed = new Set<string>();
  const nameOf = ({ GroupName = "", Name = "" }: Named): string => `${GroupName}/${Name}`;
  const found = (input: Named): Schedule => {
    const schedule = schedules.get(nameOf(input));
    if (!schedule) throw new ResourceNotFoundException({ ...REFUSED, Message: "there is no such schedule" });
    return schedule;
  };

  /** Waits for the occurrence at `time`, and then for the next ones, until the schedule is changed or deleted. */
  const waitFor = (schedule: Schedule, time: number): void => {
    at(time, () => {
      if (schedules.get(nameOf(schedule)) !== schedule) return;
      if (schedule.State !== "DISABLED") reach(schedule, time);
      const every = everyOf(schedule);
      if (every !== undefined) waitFor(schedule, time + every);
      else if (schedule.ActionAfterCompletion === "DELETE") schedules.delete(nameOf(schedule));
      else completed.add(nameOf(schedule));
    });
  };

  const reach = ({ Name = "", Target }: Schedule, time: number): void => {
    const { Arn = "", Input = "" } = Target ?? {};
    const text = new Date(time).toISOString().replace(/\.\d+/, "");
    for (const late of firingsOf(Arn, Name, time))
      at(time + late, () => fire(Arn, Name, Input.replaceAll("<aws.scheduler.scheduled-time>", text)));
  };

  const put = (input: CreateScheduleCommandInput): object => {
    const schedule = { ...input, from: clock() };
    schedules.set(nameOf(input), schedule);
    waitFor(schedule, firstOf(schedule));
    return { ScheduleArn: nameOf(input) };
  };

  const operations: Record<string, (input: never) => object> = {
    CreateSchedule(input: CreateScheduleCommandInput) {
      if (schedules.has(nameOf(input))) throw new ConflictException({ ...REFUSED, Message: "it is there" });
      return put(input);
    },
    UpdateSchedule(input: CreateScheduleCommandInput) {
      found(input);
      return put(input);
    },
    GetSchedule: (input: CreateScheduleCommandInput) => ({ State: "ENABLED", ...found(input) }),
    DeleteSchedule(input: CreateScheduleCommandInput) {
      found(input);
      schedules.delete(nameOf(input));
      return {};
    },
  };

  return {
    ...serviceOf(operations),
    completed: () => [...completed].filter((name) => schedules.has(name)),
  };
}

/** ms between occurrences; `undefined` if there is only one. */
function everyOf({ ScheduleExpression = "" }: Schedule): number | undefined {
  const minutes = /^rate\((\d+) minutes?\)$/.exec(ScheduleExpression)?.[1];
  return minutes === undefined ? undefined : Number(minutes) * MINUTE;
}

function firstOf(schedule: Schedule): number {
  const { ScheduleExpression = "", StartDate, from } = schedule;
  const every = everyOf(schedule);
  if (every !== undefined) {
    if (!StartDate) throw new Error("a rate without its start begins at any time");
    const passed = Math.max(Math.ceil((from - StartDate.getTime()) / every), 0);
    return StartDate.getTime() + passed * every;
  }
  const [, time] = /^at\((.+)\)$/.exec(ScheduleExpression) ?? [];
  if (time === undefined) throw new Error(`no such expression here: ${ScheduleExpression}`);
  return Math.max(Date.parse(`${time}Z`), from);
}
