import { type JobOptions, OPTION_NAMES, optionsOf, optionTrouble } from "./job-options.ts";
import { toJson } from "./json.ts";

/** The job that a recurring schedule files each time. `body` is JSON text. */
export type Template = JobOptions & { readonly topic: string; readonly body: string };

/** A recurring schedule. Times are ms since the epoch. */
export type Schedule = {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly start?: number;
  readonly end?: number;
  /** The time from which `rate(…)` counts. */
  readonly anchor: number;
  /** How much later than its time an occurrence may come, in ms of whole minutes. */
  readonly flexibleWindow?: number;
  readonly paused: boolean;
  readonly createdAt: number;
  /** The path of the construct that declares the schedule. Only a deployment changes it. Absent: callers of the API have made it. */
  readonly declared?: string;
  readonly job: Template;
};

/** One time of a schedule, with the job to file. */
export type Occurrence = { readonly name: string; readonly time: number; readonly job: Template };

/** A name that EventBridge Scheduler allows, except `.` and `..`, which a URL parser would remove from a path. */
export const SCHEDULE_NAME = /^(?!\.{1,2}$)[0-9A-Za-z._-]{1,64}$/;
export const SCHEDULE_NAME_RULE = '1 to 64 characters of 0-9, A-Z, a-z and .-_ and neither "." nor ".."';

const VERSION = 1;

/** The token of an occurrence's once item. No caller's `Idempotency-Key` equals it (see `applyRule`). */
export function occurrenceToken(name: string, time: number): string {
  // rule: occurrence-named-by-its-time
  return `§${name}§${new Date(time).toISOString()}`;
}

/** Writes the input of a schedule's target: the occurrence, and the parts of the schedule for which Scheduler has no field. */
export function occurrenceInput({ name, start, end, anchor, createdAt, declared, job }: Schedule): string {
  const stored = { v: VERSION, name, start, end, anchor, createdAt, declared };
  const body: unknown = JSON.parse(job.body);
  // Scheduler replaces keywords such as <aws.scheduler.scheduled-time> everywhere, also in a user's text.
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
  declared?: string;
  job: Omit<Template, "body"> & { body: unknown };
};

/** Reads the schedule from text that `occurrenceInput` wrote. `undefined` for any other text. */
export function storedInput(
  text: string,
): Pick<Schedule, "start" | "end" | "anchor" | "createdAt" | "declared" | "job"> | undefined {
  const input = inputOf(text);
  if (!input || !isTemplate(input.job)) return undefined;
  const { start, end, anchor, createdAt, declared } = input;
  return {
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    anchor,
    createdAt,
    ...(declared === undefined ? {} : { declared }),
    job: templateOf(input.job),
  };
}

/** Reads the event with which Scheduler invokes the target: an input whose keywords it has replaced. Throws for any other value. */
export function parseOccurrence(event: unknown): Occurrence {
  const { v, name, time, job } = (event ?? {}) as Partial<Input>;
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  if (v !== VERSION || typeof name !== "string" || Number.isNaN(at) || !isTemplate(job)) {
    const rule = `an occurrence of version ${VERSION} with its time and a job`;
    throw new Error(`the event must be ${rule}, got ${toJson({ v, time })} and a job of type ${typeof job}`);
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

/** Picks the fields that a schedule's job can have: anyone may have written the input, with further fields. */
function templateOf({ topic, body, ...options }: Input["job"]): Template {
  return { topic, body: toJson(body), ...optionsOf(options) };
}

/** Says whether each field of a job is of its kind. Otherwise an occurrence would file a job whose home no code can read (`readHome`). */
function isTemplate(value: unknown): value is Input["job"] {
  if (typeof value !== "object" || value === null) return false;
  const job = value as Partial<Input["job"]>;
  return (
    typeof job.topic === "string" &&
    job.body !== undefined &&
    OPTION_NAMES.every((name) => optionTrouble(name, job[name]) === undefined)
  );
}
