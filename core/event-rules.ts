import { MinutehandError } from "./errors.ts";
import { KEY_PATTERN, KEY_RULE } from "./job-key.ts";
import { isExact, parseJson } from "./json.ts";

/**
 * What a topic does about events of EventBridge. The construct writes these rules into the environment of the function
 * that the events reach. Durations are seconds.
 */
export type EventRule = CancelRule | EnqueueRule;

type Matched = {
  readonly topic: string;
  /** Absent: whatever its source. */
  readonly source?: string;
  readonly detailType: string;
  /** Where in the event the job's key stands, such as `$.detail.orderId`. */
  readonly key: string;
};

export type CancelRule = Matched & {
  readonly do: "cancel";
  /** How long after the event jobs of its key are cancelled too when they are filed, 0 to 86,400. */
  readonly tombstone: number;
};

export type EnqueueRule = Matched & {
  readonly do: "enqueue";
  /** From the event's time on. */
  readonly delay: number;
  /** Where in the event the job's body stands, such as `$.detail`. */
  readonly body: string;
  readonly onDuplicate: "keep" | "replace" | "postpone";
  /** With `postpone` only. */
  readonly maxDelay?: number;
};

/** An event as EventBridge's bus carried it. */
export type BusEvent = {
  readonly id: string;
  readonly source: string;
  readonly detailType: string;
  /** When it happened, ms since the epoch: whole seconds, or what its sender said. */
  readonly time: number;
  /** All of it. */
  readonly text: string;
  readonly value: unknown;
};

const PATH = /^\$(?:\.[A-Za-z0-9_-]+)+$/;
const ID_CHARS = 128;

/** Whether `path` names a place in an event: `$.name.name…`, of letters, digits, `_` and `-`. */
export function isEventPath(path: string): boolean {
  return PATH.test(path);
}

/** Reads an event as it stands in a message of the events' queue. Throws `bad-request` for anything else. */
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

/** Those of `rules` that are about this event: the longest tombstone first, as a key is told of an event once. */
export function rulesFor(rules: readonly EventRule[], event: BusEvent): EventRule[] {
  const about = rules.filter(
    ({ source = event.source, detailType }) => source === event.source && detailType === event.detailType,
  );
  return about.sort((a, b) => reachOf(b) - reachOf(a));
}

function reachOf(rule: EventRule): number {
  return rule.do === "cancel" ? rule.tombstone : -1;
}

/** What stands at a path of an event; `undefined`: nothing. */
export function valueAt({ value }: BusEvent, path: string): unknown {
  const [, ...names] = path.split(".");
  return names.reduce((at, name) => {
    const isThere = typeof at === "object" && at !== null && Object.hasOwn(at, name);
    return isThere ? (at as Record<string, unknown>)[name] : undefined;
  }, value);
}

/** The key of the job that a rule's event is about. Throws `bad-request` when there is none, or none that a job can have. */
export function keyIn(event: BusEvent, { key: path, topic }: EventRule): string {
  const value = valueAt(event, path);
  const isAltered = typeof value === "number" && !isAsWritten(event, path);
  const key = Number.isSafeInteger(value) && !isAltered ? String(value) : value;
  if (typeof key === "string" && KEY_PATTERN.test(key)) return key;
  const found = isAltered ? "a number that a double would alter" : kindOf(value);
  const rule = `the key of a job of topic ${topic}, ${path} of ${named(event)}, ${KEY_RULE}, or a whole number`;
  throw new MinutehandError("bad-request", `${rule}, got ${found}`);
}

/** Whether the number at a path is the one that its digits say. */
function isAsWritten(event: BusEvent, path: string): boolean {
  const exactly = (_: string, value: unknown, { source = "" }: { source?: string } = {}): unknown =>
    typeof value === "number" && !isExact(source) ? null : value;
  return valueAt({ ...event, value: JSON.parse(event.text, exactly) }, path) !== null;
}

/** The body of the job that a rule's event files. Throws `bad-request` when there is none, or a double would alter it. */
export function bodyIn(event: BusEvent, { body: path, topic }: EnqueueRule): unknown {
  const value = valueAt({ ...event, value: parseJson(event.text) }, path);
  if (value !== undefined) return value;
  throw new MinutehandError(
    "bad-request",
    `the body of a job of topic ${topic} must be at ${path} of ${named(event)}, got nothing`,
  );
}

function named({ detailType, id }: BusEvent): string {
  return `event ${detailType} ${id}`;
}

function notAnEvent(found: string): MinutehandError {
  const rule = `an event of EventBridge must have id (at most ${ID_CHARS} characters), source, detail-type and time`;
  return new MinutehandError("bad-request", `${rule}, got ${found}`);
}

/** Not the value itself: it may be anything, and errors are logged. */
function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return `text of ${value.length} characters`;
  return Array.isArray(value) ? "an array" : "an object";
}
