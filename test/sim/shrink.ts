import { type History, simulate } from "./simulate.ts";

/** A history without the faults and users that are not needed to break the promise, and the names of those (`suppressed`). */
export type Shrunk = { history: History; suppressed: Set<string> };

const MOST_USERS = 14;
const MOST_CHANGES = 4;
const MOST_OPERATORS = 2;
const MOST_PLANNERS = 2;
const MOST_CLERKS = 2;
const MOST_STRANGERS = 4;
const MOST_DEPLOYS = 3;
/** The most calls of all histories that are played to shrink one. A history of weeks may make a million calls, others make 4,000. */
const MOST_CALLS = 5_000_000;

/**
 * Leaves out faults and users as long as the same promise still breaks: first half of them at a time, then a quarter, in the end
 * each one alone. `tries`: how many histories it may play.
 */
export async function shrink(seed: number, tries: number, weeks = false): Promise<Shrunk> {
  let best = await simulate(seed, { traced: true, weeks });
  const suppressed = new Set<string>();
  const promise = best.violation?.promise;
  let left = tries;
  let calls = callsOf(best);
  const isEnough = (): boolean => left <= 0 || calls >= MOST_CALLS;
  const users = Array.from({ length: MOST_USERS }, (_, i) => `user:${i + 1}`);
  const changes = users.flatMap((user) => Array.from({ length: MOST_CHANGES }, (_, i) => `${user}:${i}`));
  const operators = Array.from({ length: MOST_OPERATORS }, (_, i) => `operator:${i + 1}`);
  const planners = Array.from({ length: MOST_PLANNERS }, (_, i) => `planner:${i + 1}`);
  const clerks = Array.from({ length: MOST_CLERKS }, (_, i) => `clerk:${i + 1}`);
  const strangers = Array.from({ length: MOST_STRANGERS }, (_, i) => `stranger:${i + 1}`);
  const deploys = Array.from({ length: MOST_DEPLOYS }, (_, i) => `deploy:${i + 1}`);
  const events = [...users, ...changes].map((name) => name.replace("user", "event"));
  const removable = (): string[] =>
    [
      ...[
        "epilogue:1",
        "storm:1",
        "mender:1",
        ...users,
        ...events,
        ...operators,
        ...planners,
        ...clerks,
        ...changes,
      ],
      ...strangers,
      ...deploys,
      ...best.faults.keys(),
    ].filter((key) => !suppressed.has(key));

  for (
    let size = Math.ceil(removable().length / 2);
    size >= 1 && !isEnough();
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < removable().length && !isEnough(); left--) {
      const out = removable().slice(at, at + size);
      const history = await simulate(seed, {
        suppressed: new Set([...suppressed, ...out]),
        traced: true,
        weeks,
      });
      calls += callsOf(history);
      if (history.violation?.promise === promise) {
        best = history;
        for (const key of out) suppressed.add(key);
      } else at += size;
    }
  }
  return { history: best, suppressed };
}

function callsOf({ calls }: History): number {
  return [...calls.values()].reduce((sum, count) => sum + count, 0);
}

/** The lines of a trace that explain a violation: those that name the job, a fault, the death of a machine, or trouble of a tick. */
export function storyOf({ trace, violation }: History, width: number): string[] {
  const id = violation?.id ?? "";
  const telling = /FAULT|BLOW|dies|VIOLATION|"type":"trouble"/;
  return trace
    .filter((line) => telling.test(line) || (id !== "" && line.includes(id)))
    .map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
}
