import { createHash } from "node:crypto";
import { MinutehandError } from "../core/errors.ts";
import type { Key } from "../core/items.ts";
import { isJobId } from "../core/job-id.ts";
import { type Position, storedPosition } from "../core/position.ts";
import { quoted } from "../general/text.ts";
import type { Bulk } from "../protocol/change/begin-bulk.ts";
import { LAST_BOUND } from "./instants.ts";

// Earlier versions wrote the sort key of the last job into cursors of dead jobs and bulks: a position without `#~`.
const LIST_PLACE = /^(\d{13})(?:#([0-9A-Z]{26})#~)?$/;
const DEAD_PLACE = /^\d{13}#([0-9A-Z]{26})(?:#~)?$/;
const BULK_PLACE = /^(\d{13})(?:#([0-9A-Z]{26})(?:#~)?)?$/;
const WHOLE = /^(?:0|[1-9]\d{0,12})$/;

/** DynamoDB refuses longer sort keys ("Constraints in Amazon DynamoDB"), and no partition key of ours is longer. */
const LONGEST_KEY = 1024;

/** How many bytes of a refused cursor an error shows. */
const SHOWN = 60;

/** The cursor of a list has the list's range, so that a caller need not repeat it. ms since the epoch. */
export type ListCursor = { place: Position; from: number; to: number };

export function encodeListCursor({ place, from, to }: ListCursor): string {
  return encode(`${from} ${to} ${place}`);
}

export function decodeListCursor(text: string): ListCursor {
  const [from = "", to = "", place = "", ...rest] = decode(text).split(" ");
  const [, time, id] = LIST_PLACE.exec(place) ?? [];
  const known = time !== undefined && (id === undefined || isJobId(id));
  if (!known || rest.length > 0 || ![from, to].every(isBound) || !isPlace(time, from)) throw garbage(text);
  return { place: storedPosition(place), from: Number(from), to: Number(to) };
}

export function encodeDeadCursor(place: Position): string {
  return encode(place);
}

export function decodeDeadCursor(text: string): Position {
  const place = decode(text);
  const [, id] = DEAD_PLACE.exec(place) ?? [];
  if (id === undefined || !isJobId(id)) throw garbage(text);
  return storedPosition(place);
}

export function encodeBulkCursor({ id, startedAt, from, to, nextAt, position }: Bulk): string {
  return encode(`${id} ${startedAt} ${from} ${to} ${nextAt} ${position}`);
}

export function decodeBulkCursor(text: string): Bulk {
  const [id = "", startedAt = "", from = "", to = "", nextAt = "", position = "", ...rest] =
    decode(text).split(" ");
  const [, time, job] = BULK_PLACE.exec(position) ?? [];
  const known = time !== undefined && (job === undefined || isJobId(job)) && /^[\w-]{8}$/.test(id);
  const numbers = [startedAt, from, to].every(isBound) && WHOLE.test(nextAt);
  if (!known || rest.length > 0 || !numbers || !isPlace(time, from)) throw garbage(text);
  return {
    id,
    startedAt: Number(startedAt),
    from: Number(from),
    to: Number(to),
    nextAt: Number(nextAt),
    position: storedPosition(position),
  };
}

/** `place`: the key of the last item that was read. Whoever writes one by hand only begins elsewhere. */
export function encodeTableCursor({ pk, sk }: Key): string {
  return encode(JSON.stringify([pk, sk]));
}

export function decodeTableCursor(text: string): Key {
  const [pk, sk, ...rest] = partsOf(decode(text));
  const areKeys = [pk, sk].every(
    (part) => typeof part === "string" && part !== "" && part.length <= LONGEST_KEY,
  );
  if (!areKeys || rest.length > 0) throw garbage(text);
  return { pk, sk } as Key;
}

function partsOf(text: string): unknown[] {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

/** `token`: EventBridge Scheduler's `NextToken`. */
export function encodeScheduleCursor(token: string): string {
  return encode(token);
}

export function decodeScheduleCursor(text: string): string {
  const token = decode(text);
  if (token === "") throw garbage(text);
  return token;
}

const TIED = /^([^.]+)\.([\w-]{8})$/;

/** Appends a hash of the request's topic, filters and values. */
export function tie(cursor: string, ...list: readonly (string | undefined)[]): string {
  return `${cursor}.${markOf(list)}`;
}

/** Throws `bad-request` if the cursor belongs to another request. */
export function untie(text: string, ...list: readonly (string | undefined)[]): string {
  const [, cursor = "", mark] = TIED.exec(text) ?? [];
  if (mark === undefined) throw garbage(text);
  if (mark === markOf(list)) return cursor;
  throw new MinutehandError(
    "bad-request",
    "cursor must be sent with the same topic, filters and values as the request that answered it",
  );
}

function markOf(list: readonly (string | undefined)[]): string {
  return createHash("sha256").update(JSON.stringify(list)).digest("base64url").slice(0, 8);
}

/** A time at which a range may begin or end. */
function isBound(digits: string): boolean {
  return WHOLE.test(digits) && Number(digits) <= LAST_BOUND;
}

function isPlace(time: string, from: string): boolean {
  return Number(from) <= Number(time) && Number(time) <= LAST_BOUND;
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function decode(text: string): string {
  const decoded = Buffer.from(text, "base64url").toString();
  if (encode(decoded) !== text) throw garbage(text);
  return decoded;
}

function garbage(text: string): MinutehandError {
  return new MinutehandError(
    "bad-request",
    `cursor must be the cursor of an earlier answer, or be left out for the first page, got ${quoted(text, SHOWN)}`,
  );
}
