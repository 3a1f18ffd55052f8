import { isDeepStrictEqual } from "node:util";
import type { Home } from "../../../src/core/home.ts";
import { CHANGES, type ChangeName, type Row } from "../../../src/core/states.ts";

/** The changes by which a home may have become as it is now: `src/core/states.ts` says which attributes each of them touches. */
export function changesBetween(before: Home | undefined, after: Home): ChangeName[] {
  return (Object.keys(CHANGES) as ChangeName[]).filter((name) => fits(CHANGES[name], before, after));
}

function fits(
  { from, to = from, sets, may = [], clears = [] }: Row,
  before: Home | undefined,
  after: Home,
): boolean {
  if (from !== before?.state || to !== after.state) return false;
  if (!sets.every((name) => after[name] !== undefined)) return false;
  if (!before) return after.revision === 0;
  const mine = new Set<keyof Home>([...sets, ...may]);
  const step = after.revision - before.revision;
  if (step !== 1 && (step !== 0 || sets.includes("revision"))) return false;
  if (clears.some((name) => after[name] !== undefined && !mine.has(name))) return false;
  const touched = new Set([...mine, ...clears, "state"]);
  const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof Home)[]);
  return [...names].every((name) => touched.has(name) || isDeepStrictEqual(before[name], after[name]));
}
