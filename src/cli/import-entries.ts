import * as z from "zod/mini";
import type { EnqueueOptions, NewSchedule } from "../client/options.ts";
import { messageOf } from "../core/errors.ts";
import { KEPT_OPTIONS } from "../core/job-options.ts";
import { job, type STATES } from "../http/answers/jobs.ts";
import { schedule } from "../http/answers/schedules.ts";
import { linesOf } from "./export-file.ts";

export type State = (typeof STATES)[number];

/** What one line of an export asks of `import`. `number`: of the line, from 1. */
export type Entry = { readonly number: number } & (
  | { readonly is: "job"; readonly topic: string; readonly body: unknown; readonly options: EnqueueOptions }
  | { readonly is: "schedule"; readonly name: string; readonly paused: boolean; readonly fields: NewSchedule }
  /** A job in a state that is not asked for, or a schedule that a construct declares. */
  | { readonly is: "left out"; readonly why: string }
  | { readonly is: "wrong"; readonly why: string }
  /** `isEnd`: the export is complete here. `source`: the URL of the API that an export was made of. */
  | { readonly is: "mark"; readonly isEnd: boolean; readonly source?: string }
);

const keptFields = Object.fromEntries(KEPT_OPTIONS.map((name) => [name, true])) as Record<
  (typeof KEPT_OPTIONS)[number],
  true
>;
const exportedJob = z.pick(job, {
  ...{ id: true, topic: true, key: true, state: true, dueAt: true, body: true },
  ...keptFields,
});
const exportedSchedule = z.omit(schedule, { createdAt: true, next: true });

/** Reads a file that `export` has written, or parts of one, line by line. `states`: which jobs are meant. */
export async function* entriesOf(path: string, states: readonly State[]): AsyncIterable<Entry> {
  for await (const { number, text } of linesOf(path)) {
    if (text.trim() !== "") yield { number, ...entryOf(text, states) };
  }
}

type Read = Entry extends infer One ? (One extends Entry ? Omit<One, "number"> : never) : never;

function entryOf(text: string, states: readonly State[]): Read {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch (error) {
    return wrong(`it must be JSON: ${messageOf(error)}`);
  }
  if (typeof line === "object" && line !== null) {
    if ("job" in line) return jobOf(line.job, states);
    if ("schedule" in line) return scheduleOf(line.schedule);
    if ("complete" in line) return { is: "mark", isEnd: true };
    if ("export" in line) return { is: "mark", isEnd: false, source: String(Object(line.export).url) };
    if ("reached" in line) return { is: "mark", isEnd: false };
  }
  return wrong("it must be an object with the field job or schedule");
}

function jobOf(value: unknown, states: readonly State[]): Read {
  const { data, error } = exportedJob.safeParse(value);
  if (error !== undefined) return wrong(troubleOf("job", error));
  const { id, topic, body, state, ...kept } = data;
  if (!states.includes(state)) return { is: "left out", why: state };
  // The due time has the random part of `spread` already. A topic's own spread would move the job once more.
  return { is: "job", topic, body, options: { ...kept, spread: 0, idempotencyKey: `import-${id}` } };
}

function scheduleOf(value: unknown): Read {
  const { data, error } = exportedSchedule.safeParse(value);
  if (error !== undefined) return wrong(troubleOf("schedule", error));
  const { name, paused, declared, ...fields } = data;
  if (declared !== undefined) return { is: "left out", why: "declared schedules" };
  return { is: "schedule", name, paused, fields };
}

function wrong(why: string): Read {
  return { is: "wrong", why };
}

function troubleOf(what: string, { issues: [first] }: z.core.$ZodError): string {
  return `${[what, ...(first?.path ?? [])].join(".")}: ${first?.message}`;
}
