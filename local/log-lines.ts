import { isLoggedError, shortFrame, traceLines, wholeTrace } from "../src/general/stack-trace.ts";
import { lengthText } from "./clock-words.ts";
import { printable } from "./printable.ts";

/** Characters of a plain line, about five lines of a terminal. */
const LONGEST_LINE = 500;

export type LogLine = {
  readonly text: string;
  /** The time that the line shows, ms since the epoch. */
  readonly at: number;
  /** The topic that the line is about. Absent if the line is about no topic. */
  readonly topic?: string;
  /** The id of the job that the line is about. Absent if the line is about no job, or about many. */
  readonly job?: string;
  /** The record of the job event that the line tells. Absent if the line tells none. */
  readonly event?: LogRecord;
  /** The whole stack traces of the errors that the line names, with the frames of packages. Absent if there is none. */
  readonly trace?: string;
  /** The id of the process of a function that wrote the line. Absent from lines of the runner. */
  readonly pid?: number;
};

type LogRecord = Readonly<Record<string, unknown>>;

/** Fields that the functions' logger adds to every record. Log lines leave them out. */
const LOGGER_FIELDS = new Set([
  "cold_start",
  "function_arn",
  "function_memory_size",
  "function_name",
  "function_request_id",
  "level",
  "message",
  "sampling_rate",
  "service",
  "timestamp",
  "xray_trace_id",
]);

/** The width of a time. The stack of an error begins in the next column. */
const INDENT = " ".repeat("12:00:05.004  ".length);

/**
 * Also gives lines for the stacks of errors. `undefined` for metrics, empty lines, sweeps and audits that found nothing, and debug
 * records that are no job events.
 * @param writtenAt when the function wrote the line, ms since the epoch: the time of a line without a timestamp
 * @param codeDir the folder of the function's code: the files of stacks are named from there
 */
export function formatLogLine(
  functionName: string,
  line: string,
  writtenAt: number,
  codeDir = "",
): LogLine | undefined {
  const record = parseRecord(line);
  const at = timeOf(record, writtenAt);
  const text = formatLine(functionName, record ?? shortFrame(line, codeDir), at);
  if (text === undefined) return undefined;
  const errors = Object.values(record ?? {}).filter(isLoggedError);
  const trace = errors.flatMap((error) => traceLines(error, codeDir));
  const [head] = trace;
  if (head !== undefined && text.endsWith(`  ${head}`)) trace.shift();
  const indented = trace.map((one) => INDENT + shortened(one));
  const whole = errors.flatMap((error) => wholeTrace(error, codeDir)).map(withoutControls);
  return {
    text: [text, ...indented].map(withoutControls).join("\n"),
    at,
    ...subjectOf(record),
    ...(record && isEvent(record) && { event: record }),
    ...(whole.length > 0 && { trace: whole.join("\n") }),
  };
}

function isEvent({ message, type }: LogRecord): boolean {
  return message === `job ${type}`;
}

/** The topic and the job of a record. A handler's logger may give these fields other values than texts. */
function subjectOf({ topic, id }: LogRecord = {}): Pick<LogLine, "topic" | "job"> {
  return { ...(typeof topic === "string" && { topic }), ...(typeof id === "string" && { job: id }) };
}

function timeOf(record: LogRecord | undefined, writtenAt: number): number {
  const time = Date.parse(String(record?.timestamp));
  return Number.isNaN(time) ? writtenAt : time;
}

/** Escapes control characters, so that texts of handlers and receivers cannot control the terminal. Tabs are harmless. */
function withoutControls(text: string): string {
  return text.split("\t").map(printable).join("\t");
}

function formatLine(functionName: string, record: LogRecord | string, time: number): string | undefined {
  const at = timeOfDay(time);
  if (typeof record === "string")
    return record.trim() === "" ? undefined : `${at}  ${functionName}  ${shortened(record)}`;
  if ("_aws" in record) return undefined;
  const said = describeEvent(record, time);
  if (said === "nothing new") return undefined;
  if (said !== undefined)
    return [at, record.topic, record.id, said].filter((part) => part !== undefined).join("  ");
  if (record.level === "DEBUG" || record.level === "TRACE") return undefined;
  const level = record.level === "INFO" ? [] : [record.level];
  return [at, functionName, ...level, [record.message, details(record)].filter(Boolean).join(" ")].join("  ");
}

function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Why somebody moved a job. A run that has failed, or asked for another run, gives every other reason. */
const MOVERS: ReadonlySet<unknown> = new Set(["rescheduled", "replaced", "redriven"]);

// long: a list of the events and their texts
function describeEvent(event: LogRecord, now: number): string | undefined {
  if (!isEvent(event)) return undefined;
  switch (event.type) {
    case "enqueued":
      return `enqueued, due ${moment(Number(event.dueAt), now)}`;
    case "moved":
      return `${MOVERS.has(event.why) ? "moved to" : "retries at"} ${moment(Number(event.dueAt), now)} (${event.why})`;
    case "handed-over":
      return `handed over ${count(event.jobs, "job")} in ${count(event.messages, "message")}`;
    case "hand-over-failed":
      return `could not hand over ${count(event.jobs, "job")}: ${event.reason}`;
    case "started":
      return `started attempt ${event.attempt}, ${wait(event.lateMs)} late${heldPart(event.heldMs)}`;
    case "parked":
      return `held ${count(event.jobs, "job")}: the topic is paused or at its limit`;
    case "released":
      return `released ${count(event.jobs, "job")}`;
    case "deferred":
      return `deferred ${count(event.jobs, "job")} to the next opening of the topic's window`;
    case "dropped":
      // The job itself is held, and gets another message after the pause.
      return event.reason === "paused" ? "held: the topic is paused" : `dropped a message: ${event.reason}`;
    case "done":
      return `done in attempt ${event.attempt}`;
    case "threw":
      return `threw in attempt ${event.attempt}`;
    case "failed":
      return `${event.isThrottled ? "could not begin" : "failed"} attempt ${event.attempt}: ${event.error}`;
    case "dead":
      return `dead after attempt ${event.attempt}: ${event.error}`;
    case "event-applied":
      return `applied event ${event.event}: ${effectsOf(event.rules)}`;
    case "swept":
      return Number(event.entries) > 0 ? `swept ${count(event.entries, "entry", "entries")}` : "nothing new";
    case "audited":
      return Number(event.found) > 0 ? `audit found ${count(event.found, "job")}` : "nothing new";
    case "dead-letters-removed":
      return `removed ${count(event.messages, "dead letter")}`;
    default:
      return [event.type, details(event)].filter(Boolean).join(" ");
  }
}

/** The lines of the jobs and the troubles say more. */
function effectsOf(rules: unknown): string {
  if (!Array.isArray(rules)) return "";
  return rules.map(({ topic, rule, did }) => `${topic} ${rule} ${did}`).join(", ");
}

/** The part of a job's lateness that is intended. */
function heldPart(heldMs: unknown): string {
  return Number(heldMs) > 0 ? `, of that ${wait(heldMs)} held by a pause, a limit or a window` : "";
}

/** In ms, to compare jobs that are on time, and from a minute on in larger units. */
function wait(ms: unknown): string {
  return Number(ms) < 60_000 ? `${ms} ms` : lengthText(Number(ms));
}

function count(number: unknown, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

function details(record: LogRecord): string {
  const said = new Set(["type", "topic", "id"]);
  const ofEvent = isEvent(record);
  const isSaid = (value: unknown): boolean =>
    isLoggedError(value) && String(record.message).includes(value.message);
  return Object.entries(record)
    .filter(([key, value]) => !LOGGER_FIELDS.has(key) && !(ofEvent && said.has(key)) && !isSaid(value))
    .map(([key, value]) => `${key}=${textOf(value)}`)
    .join(" ");
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (isLoggedError(value)) return value.message;
  return JSON.stringify(value);
}

/** Cuts a long line. When a function crashes, Node prints the line of source at fault, and in a bundle one line has all of the code. */
function shortened(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)} …`;
}

/** `12:00:05.004` on the day of `now`, else `2026-03-12 12:00:05.004`. In local time. */
function moment(time: number, now: number): string {
  return date(time) === date(now) ? timeOfDay(time) : `${date(time)} ${timeOfDay(time)}`;
}

function date(time: number): string {
  const at = new Date(time);
  const [year, month, day] = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  return [year, ...[month, day].map((part) => String(part).padStart(2, "0"))].join("-");
}

/** In local time. */
export function timeOfDay(time: number): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "--:--:--.---";
  const [hours, minutes, seconds] = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${hours}:${minutes}:${seconds}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}
