import { fromAttributes } from "../../../src/aws/attributes.ts";
import type { Home } from "../../../src/core/home.ts";
import { RECURRING, timeOf } from "../../../src/core/item-keys.ts";
import type { RecurringItem, SharedOnceItem, Tombstone } from "../../../src/core/items.ts";
import { sharedJobs } from "../../../src/protocol/store/shared-once-item.ts";
import type { Row } from "../services/expressions.ts";
import type { Judges } from "./judges.ts";

/** The home of each row, because a stored row never changes. */
const HOMES = new WeakMap<Row, Home>();

export function tellWrite(judges: Judges, before: Row | undefined, after: Row | undefined): void {
  const row = (after ?? before) as Row;
  const [pk, sk, id] = [row.pk?.S ?? "", row.sk?.S ?? "", row.id?.S ?? ""];
  const [kind] = pk.split("#");
  if (row.id && row.state) {
    const [home, left] = [after && homeOf(after), before && homeOf(before)];
    judges.erases.written(left, home);
    if (home) tellHome(judges, left, home);
    else if (left) tellDeletion(judges, left);
  } else if (sk.endsWith("#look")) judges.looks.written(id, sk, after);
  else if (kind === "pause") {
    if (before?.state?.S === "resuming" && before.rate) judges.pauses.paced(pk.slice("pause#".length));
  } else if (judges.work.isTended(pk)) judges.work.tended(pk, sk);
  else if (kind === "paused") judges.work.parked(id, row.revision?.N ?? "", before === undefined);
  else if (kind === "dead") judges.deadLetters.listed(id, timeOf(sk), after !== undefined);
  else if (kind === RECURRING) judges.recurring.kept(sk, after && (fromAttributes(after) as RecurringItem));
  else if (kind === "once") tellOnceItem(judges, before, after);
  else if (kind === "tombstone")
    judges.tombstones.left(
      before && (fromAttributes(before) as Tombstone),
      after && (fromAttributes(after) as Tombstone),
    );
  else if (kind === "key" && after?.expiresAt) judges.keys.freed(judges.jobs.homeOf(id), after);
  else if (after?.swept?.S !== undefined && after.audited?.S !== undefined) {
    judges.untrackedJobs.swept(shardOf(row), after.swept.S);
    if (after.audited.S !== before?.audited?.S) judges.looks.audited(shardOf(row), after.audited.S);
  }
}

function tellHome(judges: Judges, before: Home | undefined, after: Home): void {
  const job = judges.jobs.of(after.id);
  job.home = after;
  if (before) judges.work.changed(before, after);
  else {
    judges.recurring.created(after.id, after.body, !after.untracked);
    judges.recurring.stored(after, judges.spreadOf(after.topic));
  }
  if (!before && !after.untracked) {
    judges.repeats.created(after);
    judges.filings.created(after);
  }
  judges.changes.changed(job, before, after);
  if (before) {
    judges.repeats.changed(before, after, job.revisions);
    judges.actors.written(before, after);
  }
  judges.jobs.noteRevision(after);
  if (before) judges.surplus.changed(before);
  judges.timelines.written(before, after);
  judges.looks.mustBeAhead(job);
  tellKey(judges, before, after);
}

function tellDeletion(judges: Judges, home: Home): void {
  judges.changes.deleted(home);
  judges.untrackedJobs.deleted(home);
  tellKey(judges, home, undefined);
}

function tellKey({ tombstones, keys }: Judges, before: Home | undefined, after: Home | undefined): void {
  const home = after ?? before;
  if (home?.key === undefined) return;
  tombstones.filed(before, after);
  keys.written(home, after);
}

/** A once item names one job, or those of a batch. */
function tellOnceItem(
  { surplus, tombstones }: Judges,
  before: Row | undefined,
  after: Row | undefined,
): void {
  const named = after?.id?.S;
  if (named !== undefined && named !== before?.id?.S) {
    surplus.found(named);
    tombstones.noted(after?.pk?.S ?? "", named);
  }
  const ids = (item: Row | undefined) =>
    item?.seed ? sharedJobs(fromAttributes(item) as SharedOnceItem).map((job) => job?.id) : [];
  const namedBefore = new Set(ids(before));
  for (const id of ids(after)) if (id !== undefined && !namedBefore.has(id)) surplus.found(id);
}

function homeOf(row: Row): Home {
  const home = HOMES.get(row) ?? (fromAttributes(row) as Home);
  HOMES.set(row, home);
  return home;
}

function shardOf({ pk }: Row): number {
  return Number(pk?.S?.slice("cursor#".length));
}
