import { sortable } from "./items.ts";

declare const position: unique symbol;

/**
 * How far something has gone through sorted entries. A position lies between two entries and never names one: all entries
 * that sort before it have been gone through, all that sort after it have not. So no bound of a read ever equals a sort key,
 * and it makes no difference whether a bound is inclusive. Only the functions of this file make positions.
 */
export type Position = string & { readonly [position]: true };

/** Before and after everything of a partition: sort keys begin with a digit. */
export const BEGINNING = " " as Position;
export const END = "~" as Position;

/** Before everything that is filed under `time`, ms since the epoch, and after everything of earlier times. */
export function beforeTime(time: number): Position {
  return sortable(time) as Position;
}

/** Just after an entry: a space sorts before every character that continues a sort key (`#look`). */
export function justAfter(sk: string): Position {
  return `${sk} ` as Position;
}

/** After everything that is filed for one job at one time: its home and its look. */
export function afterJob(sk: string): Position {
  return `${sk.replace("#look", "")}#~` as Position;
}

const POSITION = /^\d{13}$|[ ~]$/;

/**
 * A position as it was stored or sent. Earlier versions wrote the sort key of the last entry that they had gone through; it
 * means the place just after that entry.
 */
export function storedPosition(text: string): Position {
  return POSITION.test(text) ? (text as Position) : justAfter(text);
}

/**
 * How far the audit has come, as it was stored. Where earlier versions wrote a sort key they may have left that entry out:
 * it is looked at again, perhaps with a few before it.
 */
export function storedAuditPosition(text: string): Position {
  return (POSITION.test(text) ? text : text.slice(0, -1)) as Position;
}
