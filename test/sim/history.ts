import { kindOf } from "./budget.ts";
import type { Weather } from "./faults.ts";
import type { Stretch } from "./stretch.ts";
import type { Timeline } from "./timeline.ts";
import type { Violation } from "./witness/bench.ts";
import type { WorldSettings } from "./world.ts";

export type History = {
  seed: number;
  weather: Weather;
  violation: Violation | undefined;
  /** Faults that happened, by the names that suppress them. */
  faults: Map<string, string>;
  /** How many calls reached a service, by kind: the caller's role and the service. */
  calls: Map<string, number>;
  jobs: number;
  runs: number;
  /** ms from the due time of each run to its start, in the order of their starts. */
  lateness: number[];
  /** A hash of all calls: two histories with the same calls have the same. */
  digest: number;
  trace: string[];
  reached?: string[];
};

export type Notes = Pick<History, "violation" | "faults" | "calls" | "digest" | "trace">;

/** Makes the record of a history, and the functions that write in it. Nothing is traced after a violation. */
export function recordOf(timeline: Timeline, { isOfWeeks }: Stretch, traced: boolean) {
  const record: Notes = { violation: undefined, faults: new Map(), calls: new Map(), digest: 0, trace: [] };
  const stamp = (): string => new Date(timeline.now()).toISOString().slice(isOfWeeks ? 5 : 11, 23);
  const note = (line: () => string): void => {
    if (traced && !record.violation) record.trace.push(`${stamp()} ${line()}`);
  };
  return {
    record,
    note,
    onFault(key: string, what: string): void {
      record.faults.set(key, what);
      note(() => `FAULT ${key}: ${what}`);
    },
    onViolation(found: Violation): void {
      note(() => `VIOLATION of ${found.promise}: ${found.id} ${found.text}`);
      record.violation ??= found;
    },
    onCall: ((call) => {
      const { machine, operation, index } = call;
      const kind = kindOf(call);
      record.calls.set(kind, (record.calls.get(kind) ?? 0) + 1);
      for (const part of [timeline.now(), index, machine.name.length, operation.length])
        record.digest = (Math.imul(record.digest, 31) + part) | 0;
    }) satisfies WorldSettings["onCall"],
  };
}
