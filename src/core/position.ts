import { sortable } from "./item-keys.ts";

declare const position: unique symbol;

/**
 * How far a pass through sorted entries has come. A position lies between two entries and never names one: all entries that sort
 * before it are done, and all that sort after it are not. So the bound of a read never equals a sort key, and inclusive and
 * exclusive bounds mean the same. Only the functions of this file make positions.
 */
export type Position = string & { readonly [position]: true };

/** The positions before and after all entries of a partition. Each sort key begins with a digit, or is the name of a topic or a schedule. */
export const BEGINNING = " " as Position;
export const END = "~" as Position;

/** Answers the position before all entries of `time` (ms since the epoch), and after all entries of earlier times. */
export function beforeTime(time: number): Position {
  return sortable(time) as Position;
}

/** Answers the position just after an entry. A space sorts before each character that continues a sort key (`#look`). */
export function justAfter(sk: string): Position {
  return `${sk} ` as Position;
}

/** Answers the position after all entries of one job at one time: its home and its look. */
export function afterJob(sk: string): Position {
  return `${sk.replace("#look", "")}#~` as Position;
}

export function earlierOf(one: Position, other: Position): Position {
  if (one < other) return one;
  return other;
}

export function laterOf(one: Position, other: Position): Position {
  if (one > other) return one;
  return other;
}

const POSITION = /^\d{13}$|[ ~]$/;

function isPosition(value: unknown): value is Position {
  return typeof value === "string" && POSITION.test(value);
}

/** Earlier versions wrote the sort key of the last entry that was done: it means the position just after that entry. */
export function storedPosition(text: string): Position {
  return isPosition(text) ? text : justAfter(text);
}

/** Earlier versions wrote a sort key whose entry they may not have audited: it becomes a position before that entry. */
export function storedAuditPosition(text: string): Position {
  return isPosition(text) ? text : (text.slice(0, -1) as Position);
}
