import { closest, distance } from "fastest-levenshtein";

/** A name for each property of a type: all of them, and no others. */
export type Names<T> = { readonly [Name in T extends unknown ? keyof T : never]-?: true };

/** The names that other job queues have for what a job or a topic has here. */
export const NAMES_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...(["countdown", "in"] as const).map((name) => [name, "delay"] as const),
  ...(["retries", "maxRetries", "max_retries"] as const).map((name) => [name, "maxAttempts"] as const),
  ["eta", "dueAt"],
]);

/**
 * One line for each name in `given` that is not in `known` and not `undefined`: compilers find these only in TypeScript.
 * @param whose whose names they are, such as `createClient`
 * @param kind what a name is called there, such as `option`
 */
export function unknownNames(
  whose: string,
  kind: string,
  given: unknown,
  known: readonly string[],
): string[] {
  if (typeof given !== "object" || given === null) return [];
  const unknown = Object.entries(given).filter(
    ([name, value]) => value !== undefined && !known.includes(name),
  );
  return unknown.map(
    ([name]) =>
      `${whose} has an unknown ${kind} "${name}"${hint(name, known)}; allowed are ${known.join(", ")}`,
  );
}

/**
 * Suggests the known name that means the same as this name of another job queue, or else the one that begins with `name`, or else the nearest one
 * if edits of at most half of the letters lead to it.
 */
export function hint(name: string, known: readonly string[]): string {
  const meant = NAMES_ELSEWHERE.get(name) ?? name;
  const nearest = known.find((other) => other.startsWith(meant)) ?? closest(name, known);
  const isNear =
    nearest.startsWith(meant) || distance(name, nearest) <= Math.max(name.length, nearest.length) / 2;
  return isNear ? ` (did you mean "${nearest}"?)` : "";
}
