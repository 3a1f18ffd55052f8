import { describe, expect, it } from "vitest";
import { seedOfTree } from "../sim/seeds.ts";
import { JUDGE_NAMES, JUDGES, storiesOfBroken } from "./judges.ts";

/** How many histories each judge plays. All of them take less than 20 s of CPU time. */
const HISTORIES = 40;

describe.for(JUDGE_NAMES)("the judge of %s", (name) => {
  it(`finds no broken promise in ${HISTORIES} histories`, async () => {
    expect(await storiesOfBroken(name, seedOfTree(), HISTORIES)).toBe("");
  });

  it("plays a seed the same, event by event", async () => {
    const [first, second] = [await JUDGES[name](7, true), await JUDGES[name](7, true)];
    expect(first.trace.length).toBeGreaterThan(50);
    expect(second.trace).toEqual(first.trace);
  });
});
