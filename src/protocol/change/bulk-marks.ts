import { BULK_GRACE, KNOWN_CALLS } from "../../core/constants.ts";
import type { Head } from "../../core/home.ts";
import { sortable } from "../../core/item-keys.ts";
import { beforeTime, type Position } from "../../core/position.ts";
import type { JobPage } from "../read/list.ts";
import type { Bulk, BulkRequest } from "./begin-bulk.ts";

/** A bulk's mark in the home of a job that it has changed. `dueAt`: when the job was due before: ms since the epoch. */
type Mark = { readonly id: string; readonly dueAt: number };

/** The newest first. */
function marksIn(bulk = ""): Mark[] {
  return [...bulk.matchAll(/(\S+) (\d+)/g)].map(([, id = "", dueAt]) => ({ id, dueAt: Number(dueAt) }));
}

/** Earlier marks stay, because a call of an earlier bulk may be repeated. */
export function marked({ dueAt, bulk }: Head, { id }: Bulk): string {
  const marks = [{ id, dueAt }, ...marksIn(bulk)].slice(0, KNOWN_CALLS);
  return marks.map((mark) => `${mark.id} ${mark.dueAt}`).join(" ");
}

/** Says whether this bulk has changed a job since it was read. `now`: its home as it is now. */
export function isChangedBy({ id }: Bulk, { dueAt }: Head, now: Pick<Head, "bulk">): boolean {
  return marksIn(now.bulk).some((mark) => mark.id === id && mark.dueAt === dueAt);
}

/** Answers the ids of the jobs that were due on this page and that another call of this part has changed. */
export function changedBefore(
  { homes, gone, cursor }: JobPage,
  { action }: BulkRequest,
  at: Bulk,
): ReadonlySet<string> {
  // A cancelled job counts only if the bulk cancels.
  const found = [...homes, ...gone].filter(
    (home) => isMarkedHere(home, at, cursor) && (action === "cancel") === (home.state === "cancelled"),
  );
  return new Set(found.map(({ id }) => id));
}

/** Says whether the bulk has changed a job while it was due on this page. Others with a mark were moved here by the bulk itself. */
function isMarkedHere({ id, bulk }: Head, at: Bulk, cursor: Position | undefined): boolean {
  const places = marksIn(bulk).flatMap((mark) => (mark.id === at.id ? `${sortable(mark.dueAt)}#${id}` : []));
  return places.some((place) => place > at.position && place < (cursor ?? beforeTime(at.to)));
}

/** Says whether nobody else has changed a job since the bulk began. A clock that was ahead may have filed it before (`BULK_GRACE`). */
export function isFromBefore({ bulk, askedAt, createdAt }: Head, { id, startedAt }: Bulk): boolean {
  return !marksIn(bulk).some((mark) => mark.id === id) && (askedAt ?? createdAt) <= startedAt + BULK_GRACE;
}
