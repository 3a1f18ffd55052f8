import { type JobOptions, OPTION_NAMES, optionsOf, optionTrouble } from "./job-options.ts";
import { toJson } from "./json.ts";

/** What each job of a recurring schedule has. `body` is JSON text as it stands in messages. */
export type Template = JobOptions & { readonly topic: string; readonly body: string };

/** A recurring schedule as EventBridge Scheduler keeps it. Times are ms since the epoch. */
export type Schedule = {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly start?: number;
  readonly end?: number;
  /** Where `rate` counts from. */
  readonly anchor: number;
  /** Within how many ms after its time an occurrence may come, whole minutes. */
  readonly flexibleWindow?: number;
  readonly paused: boolean;
  readonly createdAt: number;
  readonly job: Template;
};

/** One time that a schedule came round. */
export type Occurrence = { readonly name: string; readonly time: number; readonly job: Template };

const VERSION = 1;

/** What a schedule's target is given: the occurrence, and with it all of the schedule that Scheduler has no field for. */
export function occurrenceInput({ name, start, end, anchor, createdAt, job }: Schedule): string {
  const stored = { v: VERSION, name, start, end, anchor, createdAt };
  const body: unknown = JSON.parse(job.body);
  // Scheduler replaces its words wherever they stand, and a user's text may hold them.
  const text = toJson({ ...stored, job: { ...job, body } }).replaceAll("<", "\\u003c");
  return `{"time":"<aws.scheduler.scheduled-time>",${text.slice(1)}`;
}

type Input = {
  v: number;
  time: string;
  name: string;
  start?: number;
  end?: number;
  anchor: number;
  createdAt: number;
  job: Omit<Template, "body"> & { body: unknown };
};

/** What `occurrenceInput` wrote of a schedule; `undefined` for anything else. */
export function storedInput(
  text: string,
): Pick<Schedule, "start" | "end" | "anchor" | "createdAt" | "job"> | undefined {
  const input = inputOf(text);
  if (!input || !isTemplate(input.job)) return undefined;
  const { start, end, anchor, createdAt } = input;
  return {
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    anchor,
    createdAt,
    job: templateOf(input.job),
  };
}

/** Reads what Scheduler gave the target, an input whose words it has replaced. Throws for anything else. */
export function parseOccurrence(event: unknown): Occurrence {
  const { v, name, time, job } = (event ?? {}) as Partial<Input>;
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  if (v !== VERSION || typeof name !== "string" || Number.isNaN(at) || !isTemplate(job)) {
    const rule = `an occurrence of version ${VERSION} with its time and a job`;
    throw new Error(`the event must be ${rule}, got ${toJson({ v, time })} and ${typeof job}`);
  }
  return { name, time: at, job: templateOf(job) };
}

function inputOf(text: string): Input | undefined {
  try {
    const input = JSON.parse(text) as Input | null;
    return input?.v === VERSION ? input : undefined;
  } catch {
    return undefined;
  }
}

/** Only what a schedule's job can have: an event that somebody else has written may say more. */
function templateOf({ topic, body, ...options }: Input["job"]): Template {
  return { topic, body: toJson(body), ...optionsOf(options) };
}

/** Whether each field is of its kind: a job that cannot be sent would keep all others of its page from it. */
function isTemplate(value: unknown): value is Input["job"] {
  if (typeof value !== "object" || value === null) return false;
  const job = value as Partial<Input["job"]>;
  return (
    typeof job.topic === "string" &&
    job.body !== undefined &&
    OPTION_NAMES.every((name) => optionTrouble(name, job[name]) === undefined)
  );
}
