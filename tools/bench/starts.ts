import { setTimeout as sleep } from "node:timers/promises";

/** The example consumers log each start. The local stack prints the fields of a log record as `name=value`. */
const START = / id=(\S+) .*\bstartedAt=(\S+)/;
const LOOK_EVERY_MS = 25;

export type Starts = {
  readonly read: (line: string) => void;
  /** When each of these jobs started first, in their order, in ms since the epoch. Throws if some have not started after `timeoutMs`. */
  readonly of: (ids: readonly string[], timeoutMs: number) => Promise<number[]>;
};

export function observeStarts(): Starts {
  const started = new Map<string, number>();
  return {
    read(line) {
      const [, id, at = ""] = START.exec(line) ?? [];
      if (id === undefined || started.has(id)) return;
      started.set(id, /^\d+$/.test(at) ? Number(at) : Date.parse(at));
    },
    async of(ids, timeoutMs) {
      const until = Date.now() + timeoutMs;
      let missing: readonly string[] = ids;
      for (;;) {
        missing = missing.filter((id) => !started.has(id));
        if (missing.length === 0) return ids.map((id) => started.get(id) ?? Number.NaN);
        if (Date.now() >= until)
          throw new Error(`${missing.length} of ${ids.length} jobs did not start within ${timeoutMs} ms`);
        await sleep(LOOK_EVERY_MS);
      }
    },
  };
}
