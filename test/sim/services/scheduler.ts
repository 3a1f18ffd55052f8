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
  completed(): string[];
};

const MINUTE = 60_000;
const REFUSED = { $metadata: {}, message: "simulated" };

type Settings = {
  clock: () => number;
  at: (time: number, act: () => void) => void;
  firingsOf: (target: string, name: string, time: number) => Firings;
  fire: (target: string, name: string, input: string) => void;
};

type State = Settings & { schedules: Map<string, Schedule>; completed: Set<string> };

const OPERATIONS: Record<string, (state: State, input: never) => object> = {
  CreateSchedule(state, input: CreateScheduleCommandInput) {
    if (state.schedules.has(nameOf(input)))
      throw new ConflictException({ ...REFUSED, Message: "it is there" });
    return put(state, input);
  },
  UpdateSchedule(state, input: CreateScheduleCommandInput) {
    found(state, input);
    return put(state, input);
  },
  GetSchedule: (state, input: CreateScheduleCommandInput) => ({ State: "ENABLED", ...found(state, input) }),
  DeleteSchedule(state, input: CreateScheduleCommandInput) {
    found(state, input);
    state.schedules.delete(nameOf(input));
    return {};
  },
};

export function simulatedScheduler(settings: Settings): Scheduler {
  const state: State = { ...settings, schedules: new Map(), completed: new Set() };
  return {
    ...serviceOf(OPERATIONS, state),
    completed: () => [...state.completed].filter((name) => state.schedules.has(name)),
  };
}

function nameOf({ GroupName = "", Name = "" }: Named): string {
  return `${GroupName}/${Name}`;
}

function found({ schedules }: State, input: Named): Schedule {
  const schedule = schedules.get(nameOf(input));
  if (!schedule) throw new ResourceNotFoundException({ ...REFUSED, Message: "there is no such schedule" });
  return schedule;
}

function put(state: State, input: CreateScheduleCommandInput): object {
  const schedule = { ...input, from: state.clock() };
  state.schedules.set(nameOf(input), schedule);
  waitFor(state, schedule, firstOf(schedule));
  return { ScheduleArn: nameOf(input) };
}

/** Waits for the occurrence at `time`, and then for the next ones, until the schedule is changed or deleted. */
function waitFor(state: State, schedule: Schedule, time: number): void {
  const { schedules, completed } = state;
  state.at(time, () => {
    if (schedules.get(nameOf(schedule)) !== schedule) return;
    if (schedule.State !== "DISABLED") reach(state, schedule, time);
    const every = everyOf(schedule);
    if (every !== undefined) waitFor(state, schedule, time + every);
    else if (schedule.ActionAfterCompletion === "DELETE") schedules.delete(nameOf(schedule));
    else completed.add(nameOf(schedule));
  });
}

function reach({ at, fire, firingsOf }: State, { Name = "", Target }: Schedule, time: number): void {
  const { Arn = "", Input = "" } = Target ?? {};
  const text = new Date(time).toISOString().replace(/\.\d+/, "");
  for (const late of firingsOf(Arn, Name, time))
    at(time + late, () => fire(Arn, Name, Input.replaceAll("<aws.scheduler.scheduled-time>", text)));
}

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
