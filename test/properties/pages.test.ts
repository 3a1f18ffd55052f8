import fc from "fast-check";
import { describe, expect } from "vitest";
import * as z from "zod/mini";
import { BUCKET, BULK_PART, DAY } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { bucketOf, deadKey, lookAt, minuteOf, sortable, timeOf, ttl } from "../../src/core/item-keys.ts";
import { ITEM_VERSION, type Item } from "../../src/core/items.ts";
import {
  afterJob,
  BEGINNING,
  beforeTime,
  earlierOf,
  justAfter,
  laterOf,
  type Position,
} from "../../src/core/position.ts";
import { type Range, withDone } from "../../src/core/ranges.ts";
import { iso } from "../../src/general/times.ts";
import {
  decodeBulkCursor,
  decodeDeadCursor,
  decodeListCursor,
  encodeBulkCursor,
  encodeDeadCursor,
  encodeListCursor,
} from "../../src/http/cursors.ts";
import { bound } from "../../src/http/instants.ts";
import { type Bulk, beginBulk } from "../../src/protocol/change/begin-bulk.ts";
import { type BulkPart, runBulk } from "../../src/protocol/change/bulk.ts";
import type { Context, Pool } from "../../src/protocol/ports.ts";
import { deadJobs } from "../../src/protocol/read/dead-jobs.ts";
import { forecast } from "../../src/protocol/read/forecast.ts";
import { listJobs } from "../../src/protocol/read/list.ts";
import { type Entry, type PassedOver, pages } from "../../src/protocol/store/pages.ts";
import { byBytes } from "../../src/testing/stored-value.ts";
import { createWorld } from "../support/world.ts";
import { homeDueAt, LAST, NOW } from "./kinds.ts";
import { property } from "./property.ts";

const SHARDS = 2;
const near = fc.oneof(
  fc.integer({ min: NOW, max: NOW + 40 * BUCKET }),
  fc.integer({ min: NOW, max: NOW + 50 }),
  fc.constantFrom(NOW, NOW + 1, NOW + 20 * BUCKET, NOW - (NOW % BUCKET) + BUCKET),
);
/** The most entries that one read answers, in place of DynamoDB's limit of 1 MB. */
const cut = fc.integer({ min: 1, max: 5 });

/** More reads than any of these ranges needs. A reader that never ends fails after them, rather than hangs. */
const READS = 20_000;

function shortened(pool: Pool, most: number): Pool {
  let reads = 0;
  return {
    ...pool,
    page: (pk, after, before, limit) => {
      if (++reads > READS) throw new Error(`more than ${READS} reads`);
      return pool.page(pk, after, before, Math.min(limit, most));
    },
  };
}

function contextOf(items: readonly Item[], most: number): Context {
  const { ctx, pool } = createWorld({ shards: SHARDS });
  for (const item of items) pool.put(item);
  return { ...ctx, pool: shortened(pool, most) };
}

/** Jobs. Many were moved, so they have a look at their new due time. Some have old looks too. */
const filed = fc.uniqueArray(
  fc.record({
    home: homeDueAt(near, SHARDS),
    moved: fc.option(near, { nil: undefined }),
    stale: fc.array(near, { maxLength: 2 }),
  }),
  { selector: ({ home }) => home.id, maxLength: 25, size: "max" },
);

function itemsOf(jobs: typeof filed extends fc.Arbitrary<infer T> ? T : never): {
  homes: Home[];
  items: Item[];
} {
  const homes = jobs.map(({ home, moved }) => ({ ...home, dueAt: moved ?? timeOf(home.sk) }));
  const looks = jobs.flatMap(({ home, moved, stale }) =>
    [...(moved === undefined ? [] : [moved]), ...stale].map((at) => lookAt(home.id, at)),
  );
  return { homes, items: [...homes, ...looks] };
}

/** A position: before a time, just after an entry, or after all entries of a job at one time. */
const positionIn = (items: readonly Item[], [kind, at, index]: [number, number, number]): Position => {
  const sk = items[index % Math.max(items.length, 1)]?.sk;
  if (kind === 0 || sk === undefined) return beforeTime(at);
  return kind === 1 ? justAfter(sk) : afterJob(sk);
};
const position = fc.tuple(fc.nat(2), near, fc.nat(100));

async function read(
  ctx: Context,
  shard: number,
  from: Position,
  before: Position,
): Promise<{ entries: Entry[]; reached: Position[] }> {
  const entries: Entry[] = [];
  const reached: Position[] = [];
  for await (const page of pages(ctx, shard, [{ from, to: before }])) {
    // A page has only the entries of its range, which begins where the range of the page before ends.
    expect(page.from).toBe(reached.at(-1) ?? from);
    for (const { sk } of page.entries) expect(page.from < sk && sk < page.to).toBe(true);
    entries.push(...page.entries);
    reached.push(page.to);
  }
  return { entries, reached };
}

describe("reading a shard page by page", () => {
  property(
    "reads every entry between two positions once, in order, and no other entry",
    [filed, cut, position, position],
    async (jobs, most, one, other) => {
      const { items } = itemsOf(jobs);
      const ctx = contextOf(items, most);
      const bounds = [positionIn(items, one), positionIn(items, other)].sort(byBytes);
      const [from = BEGINNING, before = BEGINNING] = bounds;
      for (let shard = 0; shard < SHARDS; shard++) {
        const inside = items.filter(
          ({ pk, sk }) => pk === bucketOf(timeOf(sk), shard) && from < sk && sk < before,
        );
        const expected = [...new Set(inside.map(({ sk }) => sk))].sort(byBytes);
        const { entries, reached } = await read(ctx, shard, from, before);
        expect(entries.map(({ sk }) => sk)).toEqual(expected);
        // The last page ends at the bound, so the next sweep misses no entry.
        expect(reached).toEqual([...reached].sort(byBytes));
        expect(reached.at(-1) ?? before).toBe(before);
        expect(reached.length > 0).toBe(from < before);
      }
    },
  );

  property(
    "reads the ranges one after the other, and passes over the minutes that cannot be read",
    [
      filed,
      cut,
      fc.array(fc.tuple(position, position), { maxLength: 4 }),
      fc.array(fc.nat(40), { maxLength: 6 }),
    ],
    async (jobs, most, bounds, sick) => {
      const { items } = itemsOf(jobs);
      const ctx = contextOf(items, most);
      const unread = new Set(sick.map((minute) => bucketOf(minuteOf(NOW) + minute * BUCKET, 0)));
      const { page: readPage } = ctx.pool;
      ctx.pool.page = (pk, ...rest) =>
        unread.has(pk) ? Promise.reject(new Error("no answer")) : readPage(pk, ...rest);
      const ranges = bounds.map(([one, other]): Range => {
        const [from = BEGINNING, to = BEGINNING] = [positionIn(items, one), positionIn(items, other)].sort(
          byBytes,
        );
        return { from, to };
      });
      const passed: PassedOver = {};
      const covered: Range[] = [];
      const read: string[] = [];
      for await (const { from, to, entries } of pages(ctx, 0, ranges, passed)) {
        covered.push({ from, to });
        read.push(...entries.map(({ sk }) => sk));
      }
      const inside = (sk: string, { from, to }: Range): boolean => from < sk && sk < to;
      const placed = items.filter(({ pk, sk }) => pk === bucketOf(timeOf(sk), 0));
      const expected = ranges.flatMap((range) => {
        const some = placed.filter(({ pk, sk }) => inside(sk, range) && !unread.has(pk)).map(({ sk }) => sk);
        return [...new Set(some)].sort(byBytes);
      });
      expect(read).toEqual(expected);
      // The pages cover each part of a range that lies in a minute that can be read, and nothing else.
      const done = covered.reduce(withDone, { swept: BEGINNING, ahead: [] });
      const isCovered = ({ from, to }: Range): boolean =>
        done.ahead.some((one) => one.from <= from && to <= one.to);
      for (let minute = minuteOf(NOW) - BUCKET; minute < NOW + 42 * BUCKET; minute += BUCKET)
        for (const range of ranges) {
          const from = laterOf(beforeTime(minute), range.from);
          const to = earlierOf(beforeTime(minute + BUCKET), range.to);
          if (from < to) expect(isCovered({ from, to })).toBe(!unread.has(bucketOf(minute, 0)));
        }
    },
  );

  property("reads each job as it is now", [filed, cut], async (jobs, most) => {
    const { homes, items } = itemsOf(jobs);
    const ctx = contextOf(items, most);
    const { entries } = await read(ctx, 0, beforeTime(NOW - BUCKET), beforeTime(NOW + 41 * BUCKET));
    for (const { sk, home } of entries) expect(home).toEqual(homes.find(({ id }) => sk.includes(id)));
    expect(entries.every(({ home }) => home !== undefined)).toBe(true);
  });

  property(
    "continues without a gap from any page's position, or from before any entry",
    [filed, cut, fc.nat(60), near],
    async (jobs, most, index, end) => {
      const { items } = itemsOf(jobs);
      const ctx = contextOf(items, most);
      const before = beforeTime(end + 20 * BUCKET);
      const { entries, reached } = await read(ctx, 0, beforeTime(NOW), before);
      const stop = reached[index % Math.max(reached.length, 1)] ?? before;
      const rest = await read(ctx, 0, stop, before);
      expect(rest.entries.map(({ sk }) => sk)).toEqual(entries.map(({ sk }) => sk).filter((sk) => sk > stop));
      const at = index % Math.max(entries.length, 1);
      const again = await read(ctx, 0, entries[at]?.before ?? before, before);
      expect(again.entries.map(({ sk }) => sk)).toEqual(entries.slice(at).map(({ sk }) => sk));
    },
  );
});

const place = (home: Pick<Home, "dueAt" | "id">): string => `${sortable(home.dueAt)}#${home.id}`;

describe("a list", () => {
  const limit = fc.integer({ min: 1, max: 10 });
  property(
    "answers each job due in its range once, in due order, page by page",
    [filed, cut, limit, near, near],
    async (jobs, most, size, one, other) => {
      const { homes, items } = itemsOf(jobs);
      const ctx = contextOf(items, most);
      const [from, to] = [Math.min(one, other), Math.max(one, other) + 1];
      const listed: string[] = [];
      let cursor: Position | undefined;
      do {
        const page = await listJobs(ctx, { from, to, limit: size, ...(cursor ? { cursor } : {}) });
        expect(page.homes.length).toBeLessThanOrEqual(size);
        listed.push(...page.homes.map(place));
        cursor = page.cursor && decodeListCursor(encodeListCursor({ place: page.cursor, from, to })).place;
      } while (cursor !== undefined && listed.length < 1000);
      const due = homes.filter(({ dueAt }) => dueAt >= from && dueAt < to);
      expect(listed).toEqual(due.map(place).sort(byBytes));
    },
  );

  const last = fc.integer({ min: LAST - 3 * BUCKET, max: LAST - 1 });
  property("ends, however late its range", [last, last], async (one, other) => {
    const [from, to] = [Math.min(one, other), Math.max(one, other) + 1];
    fc.pre(z.safeParse(bound, iso(to)).success);
    expect(await listJobs(contextOf([], 1), { from, to, limit: 1 })).toMatchObject({
      homes: [],
      examined: 0,
    });
  });

  property(
    "has as many jobs in each minute as the forecast counts",
    [filed, cut, near, near],
    async (jobs, most, one, other) => {
      const { homes, items } = itemsOf(jobs);
      const ctx = contextOf(items, most);
      const [from, to] = [Math.min(one, other), Math.max(one, other) + 1];
      const due = homes.filter(({ dueAt }) => dueAt >= from && dueAt < to);
      const minutes = Map.groupBy(due, ({ dueAt }) => dueAt - (dueAt % BUCKET));
      const expected = [...minutes].map(([minute, these]) => ({ minute, count: these.length }));
      expected.sort((a, b) => a.minute - b.minute);
      expect(await forecast(ctx, { from, to })).toEqual({ minutes: expected });
    },
  );
});

describe("a bulk", () => {
  const rate = fc.constantFrom(undefined, 0.01, 1, 1000);
  /** Limits each part of a bulk to `pages` pages. A page has hardly more than two jobs, because it may read 4 MiB. */
  const LARGE = JSON.stringify("x".repeat(2 * 1024 * 1024));
  const inShortParts = (ctx: Context, pages: number): Context => {
    const large = (item: Item): Item => ("state" in item ? ({ ...item, body: LARGE } as Item) : item);
    let bodies = 0;
    return {
      ...ctx,
      clock: () => ctx.clock() + (bodies < 2 * pages ? 0 : BULK_PART),
      pool: {
        ...ctx.pool,
        page: async (...asked) => {
          const { items, more } = await ctx.pool.page(...asked);
          bodies += items.filter((item) => "state" in item).length;
          return { items: items.map(large), more };
        },
      },
    };
  };
  property(
    "moves and counts each job in its range once, to any time and at any rate, even if each part is called twice and is longer once",
    [filed, cut, near, near, near, rate, fc.boolean()],
    async (jobs, most, one, other, target, ratePerSecond, isFirstLost) => {
      const { homes, items } = itemsOf(jobs.map((job) => ({ ...job, home: { ...job.home, createdAt: 0 } })));
      const ctx = contextOf(items, most);
      const [from, to] = [Math.min(one, other), Math.max(one, other) + 1];
      const request = {
        action: "move",
        topic: "t",
        dryRun: false,
        ...(ratePerSecond && { ratePerSecond }),
      } as const;
      let changed = 0;
      for (let at: Bulk | undefined = beginBulk(ctx, "move", { from, to }, target); at; ) {
        const part: BulkPart = await runBulk(inShortParts(ctx, 1), request, at);
        const again = await runBulk(inShortParts(ctx, 2), request, at);
        const answer = isFirstLost ? again : part;
        changed += answer.changed;
        at = answer.next && decodeBulkCursor(encodeBulkCursor(answer.next));
      }
      const due = homes.filter(({ dueAt }) => dueAt >= from && dueAt < to);
      expect(changed).toBe(due.length);
      const now = (await ctx.pool.read(homes)) as Home[];
      for (const [i, home] of homes.entries())
        expect(now[i]?.revision).toBe(home.revision + (due.includes(home) ? 1 : 0));
      const starts = now.filter((_, i) => due.includes(homes[i] as Home)).map(({ dueAt }) => dueAt);
      const apart = ratePerSecond === undefined ? 0 : 1000 / ratePerSecond;
      const wanted = starts.map((_, i) => Math.round(target + i * apart));
      expect(starts.sort((a, b) => a - b)).toEqual(wanted);
    },
  );
});

describe("the list of the dead", () => {
  const deaths = fc.uniqueArray(
    fc.record({
      home: homeDueAt(near, SHARDS),
      daysAgo: fc.nat(40),
      ms: fc.constantFrom(0, 1, 5),
      redriven: fc.boolean(),
    }),
    { selector: ({ home }) => home.id, maxLength: 20 },
  );
  property(
    "answers each dead job once, oldest first, and continues from any place",
    [deaths, cut, fc.nat(20)],
    async (jobs, most, index) => {
      const entries = jobs.map(({ home, daysAgo, ms, redriven }) => {
        const { ctx } = createWorld();
        const at = ctx.clock() - daysAgo * DAY - ms;
        const stored: Home = redriven
          ? home
          : ({ ...home, state: "dead", finishedAt: at, expiresAt: ttl(at + 50 * DAY) } as Home);
        const entry = {
          ...deadKey(home.topic, at, home.id),
          v: ITEM_VERSION,
          id: home.id,
          revision: 0,
          expiresAt: 0,
        };
        return { stored, entry, redriven };
      });
      const ctx = contextOf(
        entries.flatMap(({ stored, entry }) => [stored, entry]),
        most,
      );
      const dead = entries.filter(({ redriven }) => !redriven).map(({ entry }) => entry.sk);
      dead.sort(byBytes);
      const listed: string[] = [];
      for await (const { entry } of deadJobs(ctx, "t")) listed.push(entry.sk);
      expect(listed).toEqual(dead);
      const after = dead[index % Math.max(dead.length, 1)];
      const rest: string[] = [];
      if (after !== undefined)
        for await (const { entry } of deadJobs(ctx, "t", decodeDeadCursor(encodeDeadCursor(afterJob(after)))))
          rest.push(entry.sk);
      expect(rest).toEqual(dead.filter((sk) => after !== undefined && sk > after));
    },
  );
});
