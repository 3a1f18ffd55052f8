import { BUCKET, BUCKETS_A_PAGE } from "../../core/constants.ts";
import { minuteOf } from "../../core/items.ts";
import { beforeTime, justAfter } from "../../core/position.ts";
import { chunksOf, inParallel } from "../../general/batches.ts";
import type { Context } from "../ports.ts";
import { shardsToRead } from "../store/shards.ts";
import { bucketsFrom, homesDueAt, readEntries } from "./due-jobs.ts";

export type Forecast = {
  /** Times are ms since the epoch: the beginnings of the minutes. */
  minutes: { minute: number; count: number }[];
  /** The `from` of the next call. Absent: the whole range has been counted. */
  next?: number;
};

const WIDTH = 32;

/** Counts the unfinished jobs that fall due in each minute of `[from, to)`. A call reads at most `BUCKETS_A_PAGE` buckets, or one minute. */
export async function forecast(
  ctx: Context,
  request: { topic?: string; from: number; to: number },
): Promise<Forecast> {
  const shards = await shardsToRead(ctx);
  const first = minuteOf(request.from);
  const readable = Math.max(Math.floor(BUCKETS_A_PAGE / shards), 1);
  const last = Math.min(request.to, first + readable * BUCKET);
  const buckets = bucketsFrom(beforeTime(first), beforeTime(last), readable, shards);
  // By id: the home and the look of a moved job may have the same time, and lie in two pages.
  const minuteById = new Map<string, number>();
  // Together, the looks of all buckets would put too many bodies into memory.
  for (const together of chunksOf(buckets, WIDTH)) await noteMinutes(ctx, together, request, minuteById);
  const counts = new Map<number, number>();
  for (const minute of minuteById.values()) counts.set(minute, (counts.get(minute) ?? 0) + 1);
  const minutes = [...counts]
    .map(([minute, count]) => ({ minute, count }))
    .sort((a, b) => a.minute - b.minute);
  return last < request.to ? { minutes, next: last } : { minutes };
}

/** `minuteById`: the minute in which each job is due. */
async function noteMinutes(
  ctx: Context,
  pks: readonly string[],
  { topic, from, to }: { topic?: string; from: number; to: number },
  minuteById: Map<string, number>,
): Promise<void> {
  let unread = pks.map((pk) => ({ pk, position: beforeTime(from) }));
  while (unread.length > 0) {
    const pages = await inParallel(unread, WIDTH, async ({ pk, position }) => ({
      pk,
      ...(await readEntries(ctx, pk, position, beforeTime(to), ctx.sizes.page)),
    }));
    const entries = pages.flatMap(({ items }) => items);
    for (const { id, dueAt, ...home } of await homesDueAt(ctx, entries)) {
      const pending = home.state === "scheduled" || home.state === "running";
      if (pending && (topic === undefined || home.topic === topic)) minuteById.set(id, minuteOf(dueAt));
    }
    unread = pages.flatMap(({ pk, items, more }) => {
      const last = items.at(-1)?.sk;
      return more && last !== undefined ? [{ pk, position: justAfter(last) }] : [];
    });
  }
}
