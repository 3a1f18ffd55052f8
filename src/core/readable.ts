import { MinutehandError } from "./errors.ts";
import type { Head, Home, State } from "./home.ts";
import { homeKey, idIn, isLookKey, timeOf } from "./item-keys.ts";
import { ITEM_VERSION, type Item, type Key } from "./items.ts";
import { addressOf } from "./job-id.ts";
import { KEPT_OPTIONS, optionTrouble } from "./job-options.ts";

/** A newer version wrote this job's home, or a field is malformed. Nobody may change it. It has no `state`, so filters skip it. */
export type Unreadable = { readonly id: string; readonly unreadable: string; readonly state?: undefined };

const CLAIM = ["token", "leaseEnd", "claimedAt"] as const;
const END = ["finishedAt", "expiresAt"] as const;
/** What a home in this state has, besides what all homes have. */
const NEEDED: Readonly<Record<State, readonly (keyof Home)[]>> = {
  scheduled: [],
  running: CLAIM,
  done: [...CLAIM, ...END],
  cancelled: END,
  dead: END,
  expired: END,
};
const TEXTS = ["topic", "body"] as const;
const TEXTS_IF_ANY = [
  ...(["key", "token", "once", "calls", "lastError", "settledBy", "bulk", "chain", "traceparent"] as const),
];
/** Parts of other items' keys: DynamoDB refuses sort keys of more than 1,024 bytes and partition keys of more than 2,048. */
const NAMES = ["topic", "key"] as const;
const LONGEST_NAME = 512;
const TIMES = ["dueAt", "wantedAt", "createdAt"] as const;
const TIMES_IF_ANY = [
  "heldUntil",
  "leaseEnd",
  "claimedAt",
  "finishedAt",
  "sentAt",
  "eventAt",
  "askedAt",
  "cancelAskedAt",
  "postponeUntil",
] as const;
const COUNTS = ["revision", "attempt"] as const;
const COUNTS_IF_ANY = ["restarts", "expiresAt"] as const;

/** The largest time that a `Date` can hold, ms since the epoch. */
const LATEST = 8.64e15;

/** Checks each field that the protocol uses, except the body's JSON, the log's entries and flags. */
export function readHome(item: Item, id: string): Home | Unreadable {
  const trouble = layoutTrouble(item) ?? fieldTrouble(item as Home, id);
  return trouble === undefined ? (item as Home) : { id, unreadable: trouble };
}

/** Answers the job whose home an item of the table is. `undefined`: the item is something else, such as a look, a dead entry or a note. */
export function homeIn(item: Item): Home | Unreadable | undefined {
  const id = jobIdIn(item.sk);
  if (id === undefined || homeKey(id).pk !== item.pk || homeKey(id).sk !== item.sk) return undefined;
  return readHome(item, id);
}

export function isUnreadable(found: Head | Unreadable | undefined): found is Unreadable {
  return found !== undefined && "unreadable" in found;
}

/** Says what is wrong with the layout's version of an item, whatever kind of item it is. `undefined`: this code reads the version. */
export function layoutTrouble({ v }: { v: unknown }): string | undefined {
  if (v === ITEM_VERSION) return undefined;
  if (typeof v !== "number") return "it does not say the version of its layout";
  return `its layout is version ${v}, and this code reads version ${ITEM_VERSION}`;
}

/** Makes the error that `Pool.count` throws for an item that a newer version wrote. */
export function newerCounters({ pk }: Key): MinutehandError {
  const why = "a newer version wrote it, and only that version can count in it";
  return new MinutehandError("unavailable", `item ${pk} cannot be used: ${why}`);
}

/** Makes the error for a caller who names an unreadable job. */
export function unreadableError({ id, unreadable }: Unreadable): MinutehandError {
  return unavailableItem(`job ${id}`, unreadable, { id });
}

/** Answers an item of any kind except a home. `what`: names it in the error. @throws `unavailable` if a newer version wrote the item */
export function requireReadable<T extends Item>(item: T | undefined, what: string): T | undefined {
  const trouble = item && layoutTrouble(item);
  if (trouble !== undefined) throw unavailableItem(what, trouble);
  return item;
}

function unavailableItem(what: string, unreadable: string, data: object = {}): MinutehandError {
  const why = `${what} cannot be read: ${unreadable}`;
  const hope = "if a newer version wrote it, deploy that version again";
  return new MinutehandError("unavailable", `${why}; ${hope}`, { ...data, unreadable });
}

/** Answers the id of the job that a bucket's entry is about, by its sort key alone. `undefined` if `sk` is not the sort key of an entry. */
export function jobIdIn(sk: string): string | undefined {
  const id = idIn(sk);
  if (id === undefined) return undefined;
  // A home is read by its id, so its key must be the key that the id gives.
  return isLookKey(sk) || addressOf(id).time === timeOf(sk) ? id : undefined;
}

function fieldTrouble(home: Home, id: string): string | undefined {
  if (home.id !== id) return "its id does not belong to its key";
  if (!Object.hasOwn(NEEDED, home.state)) return "its state is no state of a job";
  for (const name of NEEDED[home.state])
    if (home[name] === undefined) return `it is ${home.state} without ${name}`;
  for (const name of TEXTS) if (typeof home[name] !== "string") return malformed(name, "text");
  for (const name of TEXTS_IF_ANY)
    if (home[name] !== undefined && typeof home[name] !== "string") return malformed(name, "text");
  for (const name of NAMES)
    if ((home[name]?.length ?? 0) > LONGEST_NAME)
      return malformed(name, `at most ${LONGEST_NAME} characters`);
  for (const name of TIMES) if (!isTime(home[name])) return malformed(name, "a time");
  for (const name of TIMES_IF_ANY)
    if (home[name] !== undefined && !isTime(home[name])) return malformed(name, "a time");
  for (const name of COUNTS) if (!isCount(home[name])) return malformed(name, "a count");
  for (const name of COUNTS_IF_ANY)
    if (home[name] !== undefined && !isCount(home[name])) return malformed(name, "a count");
  for (const name of KEPT_OPTIONS) {
    const wanted = optionTrouble(name, home[name]);
    if (wanted !== undefined) return malformed(name, wanted);
  }
  if (home.log !== undefined && !Array.isArray(home.log)) return malformed("log", "a list");
  return undefined;
}

function malformed(name: keyof Home, wanted: string): string {
  return `its ${name} is not ${wanted}`;
}

function isTime(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= LATEST;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
