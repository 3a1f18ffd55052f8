import { iso } from "../general/times.ts";
import type { AskedRuns } from "./chain.ts";
import { UNREADABLE_WAIT } from "./constants.ts";
import type { Home, Throttled } from "./home.ts";
import { isJobId } from "./job-id.ts";
import { CARRIED_OPTIONS, type CarriedOptions, optionTrouble } from "./job-options.ts";
import { toJson } from "./json.ts";
import { type OfSchedule, scheduleIn } from "./once.ts";

/**
 * The version of the messages' layout. A ready queue carries `{ v, topic, jobs: […] }`, plain JSON for a consumer in any language.
 * The envelope of a dead job in a DLQ has `dead: true` and the error. `v` and `topic` mean the same in all versions, so that older
 * code can hide a message of a newer version.
 */
export const MESSAGE_VERSION = 1;

export type MessageJob = CarriedOptions &
  OfSchedule & {
    id: string;
    revision: number;
    /** The number of the run that this message starts, from 1. */
    attempt: number;
    /** ISO 8601, UTC. */
    dueAt: string;
    body: unknown;
    /** ISO 8601, UTC: the time that was asked for, if it had passed when the job was filed or moved. `ifLate` counts from it. */
    wantedAt?: string;
    /** ISO 8601, UTC: from then on the job does not start any more. */
    expiresAt?: string;
    /** The job's key, if it has one: a settle then knows of the key item without a read. */
    key?: string;
    /** ISO 8601, UTC: the start that a pause, a limit or a window gave the job. */
    heldUntil?: string;
    /** ISO 8601, UTC: when the message was sent. If the job was sent again unchanged: when its first message was sent. */
    sentAt?: string;
    /** As the home's `restarts`. Absent: never. */
    restarts?: number;
    /** As the home's `chain`. */
    chain?: string;
    /** As the home's `traceparent`. */
    traceparent?: string;
    /** Only an untracked job has these: a tracked one has them in its home. */
    askedRuns?: AskedRuns;
    /** As the home's `throttled`, of an untracked job only. */
    throttled?: Throttled;
    /** The job was filed untracked: it runs without a claim, whatever its topic says by now. */
    untracked?: true;
    /** How often earlier messages of the job were received by a process that died and did not give the job back. Absent: never. */
    receives?: number;
  };

export type Message = {
  v: number;
  topic: string;
  /** The group of all its jobs, which is the message's `MessageGroupId`. */
  group?: string;
  jobs: MessageJob[];
  dead?: true;
  error?: string;
};

/** A job of a message that is sent at `sentAt` (ISO 8601). By hand: a sweep writes thousands, and the body is text already. */
export function jobText(home: Home, sentAt?: string): string {
  const { id, revision, attempt, dueAt, expiresAfter, wantedAt, key } = home;
  const { heldUntil, restarts, untracked, askedLate, chain, traceparent, once } = home;
  const time = iso(dueAt);
  let text = `{"id":"${id}","revision":${revision},"attempt":${attempt + 1},"dueAt":"${time}"`;
  for (const name of CARRIED_OPTIONS)
    if (home[name] !== undefined) text += `,"${name}":${toJson(home[name])}`;
  // Earlier versions leave `askedLate` in the home of a retry, which is late since its own time.
  if (askedLate !== undefined && attempt === 0) text += `,"wantedAt":"${iso(wantedAt)}"`;
  if (expiresAfter !== undefined) text += `,"expiresAt":"${iso(wantedAt + expiresAfter)}"`;
  if (key !== undefined) text += `,"key":${toJson(key)}`;
  if (heldUntil !== undefined) text += `,"heldUntil":"${iso(heldUntil)}"`;
  if (sentAt !== undefined) text += `,"sentAt":"${sentAt}"`;
  if (restarts !== undefined) text += `,"restarts":${restarts}`;
  if (chain !== undefined) text += `,"chain":${toJson(chain)}`;
  if (traceparent !== undefined) text += `,"traceparent":${toJson(traceparent)}`;
  if (untracked !== undefined) text += `,"untracked":true`;
  if (once !== undefined)
    for (const [name, value] of Object.entries(scheduleIn(once))) text += `,"${name}":"${value}"`;
  return `${text},"body":${home.body}}`;
}

export function messageText(topic: string, group: string | undefined, jobTexts: readonly string[]): string {
  const fields = toJson({ v: MESSAGE_VERSION, topic, group });
  return `${fields.slice(0, -1)},"jobs":[${jobTexts.join(",")}]}`;
}

export function deadText(home: Home, error: string): string {
  const jobs = `"jobs":[${jobText({ ...home, attempt: home.attempt - 1 })}]`;
  return `{"v":${MESSAGE_VERSION},"topic":${toJson(home.topic)},"dead":true,"error":${toJson(error)},${jobs}}`;
}

/** Keeps each job once, with its newest revision and start: older messages and duplicates are void. */
export function newestRevisions<T extends { readonly job: MessageJob }>(carried: readonly T[]): T[] {
  const newest = new Map<string, T>();
  for (const one of carried) {
    const known = newest.get(one.job.id);
    if (!known || isNewer(one.job, known.job)) newest.set(one.job.id, one);
  }
  return [...newest.values()];
}

function isNewer(job: MessageJob, other: MessageJob): boolean {
  return job.revision === other.revision ? startOf(job) > startOf(other) : job.revision > other.revision;
}

/** ms since the epoch. */
export function startOf({ dueAt, heldUntil = dueAt }: Pick<MessageJob, "dueAt" | "heldUntil">): number {
  // rule: no-start-before-the-hold-ends
  return Math.max(Date.parse(dueAt), Date.parse(heldUntil));
}

/** How late the job already was when it was filed or moved: ms. A wait for a hold never counts, so this span is added to the lateness since then. */
export function lateWhenAsked({ dueAt, wantedAt = dueAt }: Pick<MessageJob, "dueAt" | "wantedAt">): number {
  // rule: late-since-the-requested-time
  return Math.max(Date.parse(dueAt) - Date.parse(wantedAt), 0);
}

/** Says whether a message's job is past its own `expiresAfter` by this clock. `now`: ms since the epoch. */
export function isPastExpiry({ expiresAt }: Pick<MessageJob, "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && now > Date.parse(expiresAt);
}

/** The end of the job's hold, as the home has it: ms since the epoch. */
export function heldUntilOf({ heldUntil }: Pick<MessageJob, "heldUntil">): number | undefined {
  return heldUntil === undefined ? undefined : Date.parse(heldUntil);
}

/** `undefined` for a message of a newer version, and for text that is no message of Minutehand. */
export function parseMessage(text: string): Message | undefined {
  const value = jsonOf(text);
  return isMessage(value) ? value : undefined;
}

/** Answers the topic of a message of a newer version, and why it cannot be read. `undefined` for all other text. */
export function newerMessage(text: string): { topic: string; error: string } | undefined {
  const value = jsonOf(text);
  if (typeof value !== "object" || value === null) return undefined;
  const { v, topic } = value as { v?: unknown; topic?: unknown };
  if (typeof v !== "number" || v === MESSAGE_VERSION || typeof topic !== "string") return undefined;
  return { topic, error: `its layout is version ${v}, and this code reads version ${MESSAGE_VERSION}` };
}

/** Answers for how many seconds to hide an unreadable message after its receive number `receives`. */
export function unreadableSeconds(receives: number): number {
  const { first, longest } = UNREADABLE_WAIT;
  return Math.min(first * 2 ** Math.max(receives - 1, 0), longest) / 1000;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== "object" || value === null) return false;
  const { v, topic, group, jobs, dead, error } = value as Partial<Message>;
  return (
    v === MESSAGE_VERSION &&
    typeof topic === "string" &&
    isTextIfAny(group) &&
    isTextIfAny(error) &&
    (dead === undefined || dead === true) &&
    Array.isArray(jobs) &&
    jobs.every(isMessageJob)
  );
}

/** Checks each field that any reader uses: a malformed job could not be claimed, and would fail the claims of its whole batch. */
function isMessageJob(value: unknown): value is MessageJob {
  if (typeof value !== "object" || value === null) return false;
  const job = value as Partial<MessageJob>;
  const { id, revision, attempt, dueAt, expiresAt, key } = job;
  return (
    typeof id === "string" &&
    isJobId(id) &&
    isCount(revision) &&
    isCount(attempt) &&
    isTime(dueAt) &&
    (job.wantedAt === undefined || isTime(job.wantedAt)) &&
    (expiresAt === undefined || isTime(expiresAt)) &&
    CARRIED_OPTIONS.every((name) => optionTrouble(name, job[name]) === undefined) &&
    (job.heldUntil === undefined || isTime(job.heldUntil)) &&
    (job.sentAt === undefined || isTime(job.sentAt)) &&
    (job.restarts === undefined || isCount(job.restarts)) &&
    (job.receives === undefined || isCount(job.receives)) &&
    (job.untracked === undefined || job.untracked === true) &&
    isTextIfAny(key) &&
    isTextIfAny(job.chain) &&
    isTextIfAny(job.traceparent) &&
    isTextIfAny(job.schedule) &&
    (job.scheduledFor === undefined || isTime(job.scheduledFor))
  );
}

function isTextIfAny(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** A count that DynamoDB and JavaScript both hold exactly. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && Number.isFinite(Date.parse(value));
}
