import fc from "fast-check";
import { expect, it } from "vitest";
import { expectKept, promisedBy, type Shape, synth } from "./full-stacks.ts";

/** Stacks that are nearly full of topics, of resources or of bytes. */
const SHAPES = fc.record({
  handled: fc.integer({ min: 0, max: 38 }),
  filled: fc.integer({ min: 84, max: 99 }),
  length: fc.integer({ min: 4, max: 50 }),
  seed: fc.nat(1_000_000),
  producers: fc.integer({ min: 0, max: 3 }),
});

it("the room for further topics is as large as it is told, for all kinds of topics and lengths of names", () => {
  let told = 0;
  const kept = fc.property(SHAPES, ({ handled, filled, ...others }) => {
    const resources = Math.floor((500 * filled) / 100) - 70;
    const pulled = Math.max(Math.floor((resources - 8 * handled) / 3), handled === 0 ? 1 : 0);
    const shape: Shape = { ...others, handled, pulled };
    const { fault, warnings } = synth(shape);
    // Long names of many topics do not fit: synth says so.
    fc.pre(fault === undefined);
    const promised = promisedBy(warnings[0]);
    expectKept(shape, promised, "handled");
    expectKept(shape, promised, "pulled");
    told++;
  });
  fc.assert(kept, {
    numRuns: 4,
    endOnFailure: true,
  });
  expect(told).toBe(4);
});
