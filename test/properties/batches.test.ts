import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { PACK_BYTES } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { parseMessage } from "../../src/core/message.ts";
import { type Pack, packsOf } from "../../src/core/packs.ts";
import { batchesOf, chunksOf, inParallel } from "../../src/general/batches.ts";
import { topicPolicy } from "../../src/settings/policy.ts";
import { homeDueAt, NOW } from "./kinds.ts";
import { property } from "./property.ts";

const count = fc.integer({ min: 1, max: 12 });

describe("chunks", () => {
  property(
    "hold every item once, in order, and all except the last are full",
    [fc.array(fc.nat(), { maxLength: 60 }), count],
    (items, size) => {
      const chunks = chunksOf(items, size);
      expect(chunks.flat()).toEqual(items);
      expect(chunks.slice(0, -1).every((chunk) => chunk.length === size)).toBe(true);
      expect(chunks.every((chunk) => chunk.length >= 1 && chunk.length <= size)).toBe(true);
    },
  );
});

describe("batches", () => {
  const sizes = fc.array(fc.nat(30), { maxLength: 60 });
  const bytes = fc.integer({ min: 1, max: 100 });
  const sum = (batch: readonly number[]): number => batch.reduce((total, size) => total + size, 0);

  property("hold every item once, in order", [sizes, count, bytes], (items, most, limit) => {
    expect(batchesOf(items, (size) => size, { count: most, bytes: limit }).flat()).toEqual(items);
  });

  property(
    "keep both limits, except if a single item is larger than the limit",
    [sizes, count, bytes],
    (items, most, limit) => {
      for (const batch of batchesOf(items, (size) => size, { count: most, bytes: limit })) {
        expect(batch.length >= 1 && batch.length <= most).toBe(true);
        expect(sum(batch) <= limit || batch.length === 1).toBe(true);
      }
    },
  );

  property("end only where the next item has no room", [sizes, count, bytes], (items, most, limit) => {
    const batches = batchesOf(items, (size) => size, { count: most, bytes: limit });
    const early = batches.filter((batch, i) => {
      const [next] = batches[i + 1] ?? [];
      return next !== undefined && batch.length < most && sum(batch) + next <= limit;
    });
    expect(early).toEqual([]);
  });
});

describe("packs", () => {
  const padded = fc
    .tuple(
      homeDueAt(fc.integer({ min: NOW, max: NOW + 3000 })),
      fc.oneof(fc.constant(0), fc.nat(PACK_BYTES + 5000)),
    )
    .map(
      ([home, size]): Home => (size === 0 ? home : { ...home, body: JSON.stringify("é".repeat(size / 2)) }),
    );
  const burst = homeDueAt(fc.integer({ min: NOW, max: NOW + 500 })).map(
    ({ group: _, ...home }): Home => home,
  );
  const homes = fc.oneof(
    fc.uniqueArray(padded, { selector: ({ id }) => id, maxLength: 25 }),
    fc.uniqueArray(burst, { selector: ({ id }) => id, minLength: 9, maxLength: 25 }),
  );
  const policy = fc.integer({ min: 1, max: 10 }).map((pack) => topicPolicy({ pack }));
  const bytesOf = ({ body }: Pack): number => Buffer.byteLength(body);
  /** The most bytes of a message beside those of its jobs. */
  const ENVELOPE = 200;

  property("hold every job once, and their messages hold the same jobs", [homes, policy], (due, rules) => {
    const packs = packsOf("t", rules, due, NOW);
    expect(packs.flatMap(({ homes }) => homes.map(({ id }) => id)).sort()).toEqual(
      due.map(({ id }) => id).sort(),
    );
    for (const { body, homes } of packs) {
      const jobs = homes.map(({ id, revision, attempt }) => ({ id, revision, attempt: attempt + 1 }));
      expect(parseMessage(body)).toMatchObject({ topic: "t", jobs });
    }
  });

  property(
    "hold jobs of one second and one group, and start with the first of them",
    [homes, policy],
    (due, rules) => {
      for (const { homes, group, start: dueAt } of packsOf("t", rules, due, NOW)) {
        expect(new Set(homes.map((home) => Math.floor(home.dueAt / 1000))).size).toBe(1);
        expect(homes.every((home) => home.group === group)).toBe(true);
        expect(dueAt).toBe(Math.min(...homes.map((home) => home.dueAt)));
      }
    },
  );

  property(
    "have at most the topic's number of jobs and 60 KB, except if a single job is larger",
    [homes, policy],
    (due, rules) => {
      for (const pack of packsOf("t", rules, due, NOW)) {
        expect(pack.homes.length).toBeLessThanOrEqual(rules.pack);
        expect(bytesOf(pack) <= PACK_BYTES + ENVELOPE || pack.homes.length === 1).toBe(true);
      }
    },
  );

  property("come in due order", [homes, policy], (due, rules) => {
    const times = packsOf("t", rules, due, NOW).map(({ start: dueAt }) => dueAt);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

describe("work in parallel", () => {
  /** Calls: how many turns of the event loop each takes, and whether it fails. */
  const calls = fc.array(
    fc.record({ turns: fc.integer({ min: 1, max: 4 }), fails: fc.nat(4).map((n) => n === 0) }),
    { maxLength: 12 },
  );
  const width = fc.integer({ min: 1, max: 5 });

  property("answers in order, a bounded number at a time", [calls, width], async (items, most) => {
    let running = 0;
    let peak = 0;
    const answered = await inParallel(items, most, async (item) => {
      peak = Math.max(peak, ++running);
      for (let i = 0; i < item.turns; i++) await turn();
      running--;
      return item;
    });
    expect(answered).toEqual(items);
    expect(peak).toBeLessThanOrEqual(most);
    expect(peak).toBeGreaterThanOrEqual(Math.min(1, items.length));
  });

  property(
    "never answers while a call is in flight, and starts none after a failure",
    [calls, width],
    async (items, most) => {
      let running = 0;
      let failed = false;
      let startedLate = 0;
      const outcome = await inParallel(items, most, async ({ turns, fails }) => {
        if (failed) startedLate++;
        running++;
        for (let i = 0; i < turns; i++) await turn();
        running--;
        if (!fails) return "done";
        failed = true;
        throw new Error("it failed");
      }).catch((error: Error) => error.message);
      expect({ running, startedLate }).toEqual({ running: 0, startedLate: 0 });
      expect(outcome).toEqual(items.some(({ fails }) => fails) ? "it failed" : items.map(() => "done"));
    },
  );
});
