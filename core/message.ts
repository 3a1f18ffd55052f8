import { UNREADABLE_WAIT } from "./constants.ts";
import type { Home } from "./items.ts";
import { isJobId } from "./job-id.ts";
import { CARRIED_OPTIONS, type CarriedOptions, optionTrouble } from "./job-options.ts";
import { toJson } from "./json.ts";

/**
 * What a ready queue carries: `{ v, topic, jobs: […] }`, plain JSON for a consumer in any language. An
 * envelope in a DLQ says `dead: true`, with the error. Older code puts a message of a newer layout aside: `v` and `topic`
 * mean the same in all of them.
 */
export const MESSAGE_VERSION = 1;

export type MessageJob = CarriedOptions & {
  id: string;
  revision: number;
  /** The number of the run this message asks for, from 1. */
  attempt: number;
  /** ISO 8601, UTC. */
  dueAt: string;
  body: unknown;
  /** From then on the job is not run any more. */
  expiresAt?: string;
  /** Set where the home has one, so that a settle knows there is a key item without reading. */
  key?: string;
  /**
   * ISO 8601, UTC: when it may start, as its topic was paused, or has a limit or a window; from `heldFrom` on it waits
   * for that alone.
   */
  heldUntil?: string;
  heldFrom?: string;
  /** ISO 8601, UTC: when its message was sent, or the first of those that carried it on as it is. */
  sentAt?: string;
  /** How often it got a full set of attempts again after a run; absent: never. */
  restarts?: number;
  /** The job was filed untracked: it runs without a claim, whatever its topic says by now. */
  untracked?: true;
  /**
   * Nobody knew whether the job's message had been sent, and this one was sent to be sure. When it is void it sends no
   * further message: else each revision would have one message more than the revision before.
   */
  spare?: true;
  /** Receives of the job's earlier messages that ended without giving the job back; absent: none. */
  receives?: number;
};

export type Message = {
  v: number;
  topic: string;
  /** Of all its jobs: the message's `MessageGroupId`. */
  group?: string;
  jobs: MessageJob[];
  dead?: true;
  error?: string;
};

/**
 * One job as it stands in a message that is sent at `sentAt` (ISO 8601). Its body is spliced in as stored: no one parses
 * it on the way. Written by hand but for what a caller named, as a sweep writes thousands at a time.
 */
export function jobText(home: Home, sentAt?: string): string {
  const { id, revision, attempt, dueAt, expiresAfter, wantedAt, key } = home;
  const { heldFrom, heldUntil, restarts, untracked, spare } = home;
  const time = new Date(dueAt).toISOString();
  let text = `{"id":"${id}","revision":${revision},"attempt":${attempt + 1},"dueAt":"${time}"`;
  for (const name of CARRIED_OPTIONS)
    if (home[name] !== undefined) text += `,"${name}":${toJson(home[name])}`;
  if (expiresAfter !== undefined) text += `,"expiresAt":"${new Date(wantedAt + expiresAfter).toISOString()}"`;
  if (key !== undefined) text += `,"key":${toJson(key)}`;
  if (heldUntil !== undefined) text += `,"heldUntil":"${new Date(heldUntil).toISOString()}"`;
  if (heldFrom !== undefined) text += `,"heldFrom":"${new Date(heldFrom).toISOString()}"`;
  if (sentAt !== undefined) text += `,"sentAt":"${sentAt}"`;
  if (restarts !== undefined) text += `,"restarts":${restarts}`;
  if (untracked !== undefined) text += `,"untracked":true`;
  if (spare !== undefined) text += `,"spare":true`;
  return `${text},"body":${home.body}}`;
}

export function messageText(topic: string, group: string | undefined, jobTexts: readonly string[]): string {
  const fields = toJson({ v: MESSAGE_VERSION, topic, group });
  return `${fields.slice(0, -1)},"jobs":[${jobTexts.join(",")}]}`;
}

/** The envelope that a dead job leaves in its topic's DLQ. */
export function deadText(home: Home, error: string): string {
  const jobs = `"jobs":[${jobText({ ...home, attempt: home.attempt - 1 })}]`;
  return `{"v":${MESSAGE_VERSION},"topic":${toJson(home.topic)},"dead":true,"error":${toJson(error)},${jobs}}`;
}

/** Each job once: its newest message says all, and an older one, or a duplicate, is void. In their order. */
export function newestOf<T extends { readonly job: MessageJob }>(carried: readonly T[]): T[] {
  const newest = new Map<string, T>();
  for (const one of carried) {
    const known = newest.get(one.job.id);
    if (!known || known.job.revision < one.job.revision) newest.set(one.job.id, one);
  }
  return [...newest.values()];
}

/** When a message's job may start, ms since the epoch. */
export function startOf({ dueAt, heldUntil = dueAt }: Pick<MessageJob, "dueAt" | "heldUntil">): number {
  // rule: no-start-before-the-hold-ends
  return Math.max(Date.parse(dueAt), Date.parse(heldUntil));
}

/** Whether a message's job is past its own `expiresAfter` by this clock. `now`: ms since the epoch. */
export function isPastExpiry({ expiresAt }: Pick<MessageJob, "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && now > Date.parse(expiresAt);
}

/** How late a message's job was before the hold that gave it its start: ms. */
export function lateBefore({ dueAt, heldFrom = dueAt }: Pick<MessageJob, "dueAt" | "heldFrom">): number {
  return Math.max(Date.parse(heldFrom) - Date.parse(dueAt), 0);
}

/** Until when a hold has put the job off, as its home has it: ms since the epoch. */
export function heldUntilOf({ heldUntil }: Pick<MessageJob, "heldUntil">): number | undefined {
  return heldUntil === undefined ? undefined : Date.parse(heldUntil);
}

/** The message that `text` is; `undefined` when it is none of ours, or of a layout still to come. */
export function parseMessage(text: string): Message | undefined {
  const value = jsonOf(text);
  return isMessage(value) ? value : undefined;
}

/** The topic of a message of a newer layout, and why it cannot be read; `undefined`: the text is no such message. */
export function newerMessage(text: string): { topic: string; error: string } | undefined {
  const value = jsonOf(text);
  if (typeof value !== "object" || value === null) return undefined;
  const { v, topic } = value as { v?: unknown; topic?: unknown };
  if (typeof v !== "number" || v === MESSAGE_VERSION || typeof topic !== "string") return undefined;
  return { topic, error: `its layout is version ${v}, and this code reads version ${MESSAGE_VERSION}` };
}

/** For how many seconds such a message is hidden when it was received for the `receives`th time. */
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

/** All that anyone reads of a job is looked at: one that could not be claimed would keep its mates from it too. */
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
    (expiresAt === undefined || isTime(expiresAt)) &&
    CARRIED_OPTIONS.every((name) => optionTrouble(name, job[name]) === undefined) &&
    (job.heldUntil === undefined || isTime(job.heldUntil)) &&
    (job.heldFrom === undefined || isTime(job.heldFrom)) &&
    (job.sentAt === undefined || isTime(job.sentAt)) &&
    (job.restarts === undefined || isCount(job.restarts)) &&
    (job.receives === undefined || isCount(job.receives)) &&
    (job.untracked === undefined || job.untracked === true) &&
    (job.spare === undefined || job.spare === true) &&
    isTextIfAny(key)
  );
}

function isTextIfAny(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

/** What DynamoDB and JavaScript count alike. */
function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && Number.isFinite(Date.parse(value));
}
