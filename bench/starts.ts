import { setTimeout as sleep } from "node:timers/promises";

/** The app's example consumers log each start; the local stack prints the record's fields as `name=value`. */
const START = / id=(\S+) .*\bstartedAt=(\S+)/;
const LOOK_EVERY_MS = 25;

/** When handlers started, as the stack's own output tells. */
export type Starts = {
  readonly read: (line: string) => void;
  /**
   * When each of these jobs started first, in their order and ms since the epoch. Throws when some have not
   * after `timeoutMs`.
   */
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
