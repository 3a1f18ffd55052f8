import { MinutehandError } from "../core/errors.ts";
import { KEY_PATTERN, KEY_RULE } from "../core/job-key.ts";
import { isExact, parseJson } from "../core/json.ts";

/**
 * A rule of a topic about events of EventBridge: to cancel a job, or to enqueue one. The construct writes the rules into the
 * environment of the function that receives the events. Durations are seconds.
 */
export type EventRule = CancelRule | EnqueueRule;

type Matched = {
  readonly topic: string;
  /** Absent: every source. */
  readonly source?: string;
  readonly detailType: string;
  /** Where in the event the job's key stands, such as `$.detail.orderId`. */
  readonly key: string;
};

export type CancelRule = Matched & {
  readonly do: "cancel";
  /**
   * Up to how long after an event that found no job this rule cancels jobs that are filed under the event's key. 0 to 86,400. Such a job
   * is cancelled at once.
   */
  readonly tombstone: number;
};

export type EnqueueRule = Matched & {
  readonly do: "enqueue";
  /** How long after the event's time the job is due. */
  readonly delay: number;
  /** Where in the event the job's body stands, such as `$.detail`. */
  readonly body: string;
  readonly onDuplicate: "keep" | "replace" | "postpone";
  /** Given with `postpone` only. */
  readonly maxDelay?: number;
};

/** An event as EventBridge's bus carried it. */
export type BusEvent = {
  readonly id: string;
  readonly source: string;
  readonly detailType: string;
  /** When the event happened, ms since the epoch. EventBridge sets whole seconds; a sender may have set a time of its own. */
  readonly time: number;
  /** The whole event as JSON text. */
  readonly text: string;
  readonly value: unknown;
};

const PATH = /^\$(?:\.[A-Za-z0-9_-]+)+$/;
const ID_CHARS = 128;

/** Says whether `path` is a path into an event: `$.name.name…`, with names of letters, digits, `_` and `-`. */
export function isEventPath(path: string): boolean {
  return PATH.test(path);
}

/** Reads an event from a message of the events' queue. Throws `bad-request` for any other text. */
export function parseEvent(text: string): BusEvent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notAnEvent("text that is no JSON");
  }
  const { id, source, "detail-type": detailType, time } = (value ?? {}) as Record<string, unknown>;
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  if (typeof id !== "string" || id.length > ID_CHARS) throw notAnEvent(`an id that is ${kindOf(id)}`);
  if (typeof source !== "string") throw notAnEvent(`a source that is ${kindOf(source)}`);
  if (typeof detailType !== "string") throw notAnEvent(`a detail-type that is ${kindOf(detailType)}`);
  if (Number.isNaN(at)) throw notAnEvent(`a time that is ${kindOf(time)}`);
  return { id, source, detailType, time: at, text, value };
}

/**
 * Answers the rules that match an event: first the cancels, the longest tombstone first, and then the enqueues. The order counts, because
 * an event is applied to a key only once.
 */
export function rulesFor(rules: readonly EventRule[], event: BusEvent): EventRule[] {
  const about = rules.filter(
    ({ source = event.source, detailType }) => source === event.source && detailType === event.detailType,
  );
  return about.sort((a, b) => tombstoneSeconds(b) - tombstoneSeconds(a));
}

function tombstoneSeconds(rule: EventRule): number {
  return rule.do === "cancel" ? rule.tombstone : -1;
}

/** Answers the value at a path of an event; `undefined` if there is none. */
export function valueAt({ value }: BusEvent, path: string): unknown {
  const [, ...names] = path.split(".");
  return names.reduce((at, name) => {
    const isThere = typeof at === "object" && at !== null && Object.hasOwn(at, name);
    return isThere ? (at as Record<string, unknown>)[name] : undefined;
  }, value);
}

/** Answers the key of the job that an event is about. Throws `bad-request` if the event has no key, or a key that a job cannot have. */
export function keyIn(event: BusEvent, { key: path, topic }: EventRule): string {
  const value = valueAt(event, path);
  const isAltered = typeof value === "number" && !isAsWritten(event, path);
  const key = Number.isSafeInteger(value) && !isAltered ? String(value) : value;
  if (typeof key === "string" && KEY_PATTERN.test(key)) return key;
  const found = isAltered ? "a number that a double would alter" : kindOf(value);
  const rule = `the key of a job of topic ${topic}, ${path} of ${nameOf(event)}, ${KEY_RULE}, or a whole number`;
  throw new MinutehandError("bad-request", `${rule}, got ${found}`);
}

/** Says whether the number at a path is one that a double prints as the event's text writes it. */
function isAsWritten(event: BusEvent, path: string): boolean {
  const exactly = (_: string, value: unknown, { source = "" }: { source?: string } = {}): unknown =>
    typeof value === "number" && !isExact(source) ? null : value;
  return valueAt({ ...event, value: JSON.parse(event.text, exactly) }, path) !== null;
}

/**
 * Answers the body of the job that an event files. Throws `bad-request` if the event has no body. Also throws it if `parseJson` refuses
 * the event's text, for example because a double would alter a number anywhere in the event.
 */
export function bodyIn(event: BusEvent, { body: path, topic }: EnqueueRule): unknown {
  const value = valueAt({ ...event, value: parseJson(event.text) }, path);
  if (value !== undefined) return value;
  throw new MinutehandError(
    "bad-request",
    `the body of a job of topic ${topic} must be at ${path} of ${nameOf(event)}, got nothing`,
  );
}

function nameOf({ detailType, id }: BusEvent): string {
  return `event ${detailType} ${id}`;
}

function notAnEvent(found: string): MinutehandError {
  const rule = `an event of EventBridge must have id (at most ${ID_CHARS} characters), source, detail-type and time`;
  return new MinutehandError("bad-request", `${rule}, got ${found}`);
}

/** Describes a value without showing its text: errors are logged, and the text may be a secret. */
function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return `text of ${value.length} characters`;
  return Array.isArray(value) ? "an array" : "an object";
}
