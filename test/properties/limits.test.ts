import fc from "fast-check";
import { describe, expect } from "vitest";
import { beginOf, type Period, periodOf } from "../../core/limit.ts";
import { nextOpening } from "../../cron/window.ts";
import { bookStarts } from "../../protocol/book-starts.ts";
import { createWorld, START } from "../protocol/world.ts";
import { property } from "./property.ts";

const limits = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 2, max: 60 }).map((seconds) => 1 / seconds),
  fc.double({ min: 1 / 60, max: 1, noNaN: true }),
);
/** ms from now, past ones too, often in the same minutes. */
const wanted = fc.array(fc.integer({ min: -100_000, max: 300_000 }), { maxLength: 60 });

const countsOf = (starts: readonly number[], period: Period): number[] =>
  [...Map.groupBy(starts, (start) => beginOf(start, period)).values()].map((these) => these.length);

describe("a limit", () => {
  property("allows what it says and no more", [limits], (maxPerSecond) => {
    const { ms, starts } = periodOf(maxPerSecond);
    expect((starts * 1000) / ms).toBeLessThanOrEqual(maxPerSecond * (1 + 1e-9));
    // No more than a second is lost to whole seconds.
    expect(ms - 1000).toBeLessThan(1000 / maxPerSecond);
  });

  property(
    "gives each job the first start that is free, whoever else books at the same time",
    [limits, fc.array(wanted, { minLength: 1, maxLength: 4 })],
    async (maxPerSecond, batches) => {
      const { ctx } = createWorld();
      const period = periodOf(maxPerSecond);
      const times = batches.map((batch) => batch.map((ms) => START + ms));
      const starts = await Promise.all(times.map((batch) => bookStarts(ctx, "orders", maxPerSecond, batch)));
      const all = starts.flat();
      expect(all).toHaveLength(times.flat().length);
      for (const [b, batch] of times.entries())
        for (const [i, time] of batch.entries())
          expect(starts[b]?.[i]).toBeGreaterThanOrEqual(Math.max(time, START));
      for (const count of countsOf(all, period)) expect(count).toBeLessThanOrEqual(period.starts);
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
    const times = ms.map((one) => nextOpening(open, Math.max(START + one, START)));
    const starts = await bookStarts(ctx, "orders", limit, times, open);
    const taken = Map.groupBy(starts, (start) => beginOf(start, period));
    for (const [i, start] of starts.entries()) {
      expect(start).toBe(nextOpening(open, start));
      expect(start).toBeGreaterThanOrEqual(times[i] ?? 0);
      // Nor was one left free while it was open first.
      const first = beginOf(times[i] ?? 0, period);
      for (let begin = first; begin < Math.min(beginOf(start, period), first + 600_000); begin += period.ms)
        if (nextOpening(open, begin) === begin) expect(taken.get(begin)?.length).toBe(period.starts);
    }
    for (const count of countsOf(starts, period)) expect(count).toBeLessThanOrEqual(period.starts);
  });

  property("leaves no start free that a job could have had", [limits, wanted], async (maxPerSecond, ms) => {
    const { ctx } = createWorld();
    const period = periodOf(maxPerSecond);
    const times = ms.map((one) => Math.max(START + one, START));
    const starts = await bookStarts(ctx, "orders", maxPerSecond, times);
    const taken = Map.groupBy(starts, (start) => beginOf(start, period));
    for (const [i, start] of starts.entries()) {
      const first = beginOf(times[i] ?? 0, period);
      for (let begin = first; begin < beginOf(start, period); begin += period.ms)
        expect(taken.get(begin)?.length).toBe(period.starts);
    }
  });
});
