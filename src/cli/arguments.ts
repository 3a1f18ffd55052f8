import { InvalidArgumentError } from "commander";
import { DAY, LONGEST_DELAY } from "../core/constants.ts";
import { isJobId } from "../core/job-id.ts";
import {
  type Duration,
  type DurationText,
  instantRule,
  insteadOfMilliseconds,
  iso,
  parseDuration,
  parseInstant,
} from "../general/times.ts";
import { type JobSummary, STATES } from "../http/answers/jobs.ts";
import { reason, shift, topic } from "../http/fields.ts";

/** Parsers of arguments and options. An error states the rule, and commander adds the name of the option or argument. */

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    const rule = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`It must be a whole number ${rule}.`);
  };
}

const ID_RULE = "It must be a job's id: the 26 characters that enqueue answered.";

export function jobId(text: string): string {
  if (isJobId(text)) return text;
  throw new InvalidArgumentError(`${ID_RULE} To name a job by its key, use --topic and --key.`);
}

/** Parses one of several ids of a command that has no `--key`, and adds it to the earlier ids. */
export function deadJobIds(text: string, before: readonly string[] = []): string[] {
  if (isJobId(text)) return [...before, text];
  throw new InvalidArgumentError(
    `${ID_RULE} To find the id of a job with a key: minutehand get --topic <topic> --key <key>.`,
  );
}

/** Parses one of several ids and adds it to the earlier ids. */
export function jobIds(text: string, before: readonly string[] = []): string[] {
  return [...before, jobId(text)];
}

/** Parses the name of one of several topics and adds it to the earlier names. */
export function topicName(text: string, before: readonly string[] = []): string[] {
  const { error } = topic.safeParse(text);
  if (error === undefined) return [...before, text];
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}

/** Parses one of several states and adds it to the earlier states. */
export function jobState(text: string, before: readonly JobSummary["state"][] = []): JobSummary["state"][] {
  const state = STATES.find((one) => one === text);
  if (state !== undefined) return [...before, state];
  throw new InvalidArgumentError(`It must be one of ${STATES.join(", ")}.`);
}

function reasonText(text: string): string {
  const { error } = reason.safeParse(text);
  if (error === undefined) return text;
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}

/** The flag of each command that changes jobs or a pause. */
export const REASON = [
  "--reason <text>",
  "why: the timeline of each job and the pause show it",
  reasonText,
] as const;

export function shiftArgument(text: string): Duration {
  const asked = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : (text as DurationText);
  const allowed = insteadOfMilliseconds(asked);
  if (allowed !== undefined) throw new InvalidArgumentError(`It must be ${allowed}.`);
  const { error } = shift.safeParse(asked);
  if (error === undefined) return asked;
  throw new InvalidArgumentError(`It ${error.issues[0]?.message}.`);
}

export function durationArgument(text: string): Duration {
  const asked = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (text as DurationText);
  const allowed = insteadOfMilliseconds(asked);
  if (allowed !== undefined) throw new InvalidArgumentError(`It must be ${allowed}.`);
  if ((parseDuration(asked) ?? Number.POSITIVE_INFINITY) <= LONGEST_DELAY) return asked;
  throw new InvalidArgumentError(
    `It must be seconds (0 or more) or a text such as "90s", "1h30m" or "7d", at most ${LONGEST_DELAY / DAY} days.`,
  );
}

/** A duration from `least` to `most` ms. */
export function durationFrom(least: number, most: number) {
  return (text: string): Duration => {
    const asked = durationArgument(text);
    const ms = parseDuration(asked) ?? 0;
    if (ms >= least && ms <= most) return asked;
    throw new InvalidArgumentError(`It must be from ${least / 1000} to ${most / 1000} seconds.`);
  };
}

/** A time as the API takes it, written as the API answers it. Without a zone, the time would depend on the machine. */
export function instant(text: string): string {
  const ms = parseInstant(text);
  if (ms !== undefined) return iso(ms);
  throw new InvalidArgumentError(`It ${instantRule(text)}.`);
}

export function rate(text: string): number {
  const number = Number(text);
  if (text !== "" && number > 0 && Number.isFinite(number)) return number;
  throw new InvalidArgumentError("It must be a number of jobs a second.");
}

/** Parses one of several `name=value` and adds it to the earlier headers. */
export function header(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at > 0) return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
  throw new InvalidArgumentError("It must have the form name=value.");
}
