import type { History } from "./history.ts";
import { simulate } from "./simulate.ts";

export type Shrunk = { history: History; suppressed: Set<string> };

/** The most calls of all histories that are played to shrink one. A history of weeks may make a million calls, others make 4,000. */
const MOST_CALLS = 5_000_000;

/** Leaves out faults and users while the same promise breaks: half at a time, then a quarter, at last each one. `tries`: most histories. */
export async function shrink(seed: number, tries: number, weeks = false): Promise<Shrunk> {
  const play = async (out: Iterable<string>): Promise<Shrunk & { asked: string[] }> => {
    const [suppressed, asked] = [new Set(out), new Set<string>()];
    // A history asks for the name of each user and fault that it has.
    suppressed.has = (name) => {
      asked.add(name);
      return Set.prototype.has.call(suppressed, name);
    };
    const history = await simulate(seed, { suppressed, traced: true, weeks });
    return { history, suppressed, asked: [...asked].filter((name) => !suppressed.has(name)) };
  };
  let best = await play([]);
  const promise = best.history.violation?.promise;
  let left = tries;
  let calls = callsOf(best.history);
  const isEnough = (): boolean => left <= 0 || calls >= MOST_CALLS;

  for (let size = Math.ceil(best.asked.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.asked.length && !isEnough(); left--) {
      const shorter = await play([...best.suppressed, ...best.asked.slice(at, at + size)]);
      calls += callsOf(shorter.history);
      if (shorter.history.violation?.promise === promise) best = shorter;
      else at += size;
    }
  }
  return best;
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
