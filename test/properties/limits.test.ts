import fc from "fast-check";
import { describe, expect } from "vitest";
import { STARTS_AHEAD } from "../../src/core/constants.ts";
import { minuteOf } from "../../src/core/item-keys.ts";
import { beginOf, type Period, periodOf, startsFarAhead, type Wanted } from "../../src/core/limit.ts";
import { nextOpening } from "../../src/cron/window.ts";
import { bookStarts } from "../../src/protocol/gate/book-starts.ts";
import type { Context } from "../../src/protocol/ports.ts";
import { createWorld, START } from "../support/world.ts";
import { property } from "./property.ts";

const limits = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 2, max: 60 }).map((seconds) => 1 / seconds),
  fc.double({ min: 1 / 60, max: 1, noNaN: true }),
);
/** ms from now, also negative, and often in the same minutes. */
const wanted = fc.array(fc.integer({ min: -100_000, max: 300_000 }), { maxLength: 60 });

const countsOf = (starts: readonly number[], period: Period): number[] =>
  [...Map.groupBy(starts, (start) => beginOf(start, period)).values()].map((these) => these.length);

describe("a limit", () => {
  property("allows what it says and no more", [limits], (maxPerSecond) => {
    const { ms, starts } = periodOf(maxPerSecond);
    expect((starts * 1000) / ms).toBeLessThanOrEqual(maxPerSecond * (1 + 1e-9));
    // The rounding to whole seconds adds less than a second.
    expect(ms - 1000).toBeLessThan(1000 / maxPerSecond);
  });

  /** Books starts for several batches at the same time. A job that gets no start (`undefined`) waits for the next release. */
  const bookAll = (
    ctx: Context,
    maxPerSecond: number,
    batches: readonly number[][],
    more: { window?: string; until?: number } = {},
    lastOf: (start: number) => number = () => Number.POSITIVE_INFINITY,
  ): Promise<(number | undefined)[][]> => {
    const limit = { maxPerSecond, counters: "starts", until: START + STARTS_AHEAD, ...more } as const;
    const wantedOf = (start: number): Wanted => ({ start, last: lastOf(start) });
    return Promise.all(batches.map((batch) => bookStarts(ctx, "orders", limit, batch.map(wantedOf))));
  };
  const given = (starts: readonly (number | undefined)[]): number[] =>
    starts.filter((start) => start !== undefined);

  property(
    "books no more starts in a period than it has, and none before a job's own time, even if several book at the same time",
    [limits, fc.array(wanted, { minLength: 1, maxLength: 4 })],
    async (maxPerSecond, batches) => {
      const { ctx } = createWorld();
      const period = periodOf(maxPerSecond);
      const times = batches.map((batch) => batch.map((ms) => START + ms));
      const starts = await bookAll(ctx, maxPerSecond, times);
      for (const [b, batch] of times.entries())
        for (const [i, time] of batch.entries())
          expect(starts[b]?.[i] ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(Math.max(time, START));
      for (const count of countsOf(given(starts.flat()), period))
        expect(count).toBeLessThanOrEqual(period.starts);
    },
  );

  property(
    "leaves no start free that a job could have had before its bound, even if several book at the same time",
    [limits, fc.array(fc.array(fc.integer({ min: 0, max: 70_000 }), { maxLength: 60 }), { maxLength: 4 })],
    async (maxPerSecond, batches) => {
      const { ctx } = createWorld();
      const period = periodOf(maxPerSecond);
      const times = batches.map((batch) => batch.map((ms) => START + ms));
      const starts = await bookAll(ctx, maxPerSecond, times);
      const taken = Map.groupBy(given(starts.flat()), (start) => beginOf(start, period));
      for (const [i, start = START + STARTS_AHEAD] of starts.flat().entries()) {
        const first = beginOf(times.flat()[i] ?? 0, period);
        for (let begin = first; begin < beginOf(start, period); begin += period.ms)
          expect(taken.get(begin)?.length).toBe(period.starts);
      }
    },
  );

  property(
    "gives a job no start that it cannot use, and leaves no start free that it could use",
    [limits, fc.array(fc.integer({ min: 0, max: 70_000 }), { maxLength: 120 }), fc.nat(60_000)],
    async (maxPerSecond, ms, life) => {
      const { ctx } = createWorld();
      const period = periodOf(maxPerSecond);
      const times = ms.map((one) => START + one);
      const [starts = []] = await bookAll(ctx, maxPerSecond, [times], {}, (start) => start + life);
      const taken = Map.groupBy(given(starts), (start) => beginOf(start, period));
      for (const [i, start] of starts.entries()) {
        const time = times[i] ?? 0;
        if (start !== undefined) expect(start).toBeLessThanOrEqual(time + life);
        const end = start ?? Math.min(time + life + 1, START + STARTS_AHEAD);
        for (let begin = beginOf(time, period); begin < beginOf(end, period); begin += period.ms)
          expect(taken.get(begin)?.length).toBe(period.starts);
      }
    },
  );

  property(
    "far ahead gives a job its own period or no start, and at most half of a minute's starts",
    [limits, fc.array(fc.integer({ min: 120_000, max: 179_999 }), { maxLength: 200 })],
    async (maxPerSecond, ms) => {
      const { ctx } = createWorld();
      const period = periodOf(maxPerSecond);
      const times = ms.map((one) => START + one);
      const [starts = []] = await bookAll(ctx, maxPerSecond, [times]);
      for (const [i, start] of starts.entries()) if (start !== undefined) expect(start).toBe(times[i]);
      for (const [minute, these] of Map.groupBy(given(starts), (start) => minuteOf(beginOf(start, period))))
        expect(these.length).toBeLessThanOrEqual(startsFarAhead(minute, period));
    },
  );

  const minute = fc.integer({ min: 9 * 60 - 2, max: 9 * 60 + 5 });
  const written = (minutes: number): string =>
    `0${Math.floor(minutes / 60)}:${`${minutes % 60}`.padStart(2, "0")}`;
  const window = fc
    .tuple(minute, minute)
    .filter(([opens, closes]) => opens !== closes)
    .map((ends) => `${ends.map(written).join("-")} UTC`);
  property("with a window books every start inside it", [limits, wanted, window], async (limit, ms, open) => {
    const { ctx } = createWorld();
    const period = periodOf(limit);
    const until = START + 600_000;
    const times = ms.map((one) => nextOpening(open, Math.max(START + one, START)));
    const [starts = []] = await bookAll(ctx, limit, [times], { window: open, until });
    const taken = Map.groupBy(given(starts), (start) => beginOf(start, period));
    for (const [i, start = until] of starts.entries()) {
      if (start < until) expect(start).toBe(nextOpening(open, start));
      expect(start).toBeGreaterThanOrEqual(Math.min(times[i] ?? 0, until));
      // No earlier start was left free while the window was open.
      for (let begin = beginOf(times[i] ?? 0, period); begin < beginOf(start, period); begin += period.ms)
        if (nextOpening(open, begin) === begin) expect(taken.get(begin)?.length).toBe(period.starts);
    }
    for (const count of countsOf(given(starts), period)) expect(count).toBeLessThanOrEqual(period.starts);
  });
});
