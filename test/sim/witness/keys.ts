import { type Home, isFinished } from "../../../src/core/home.ts";
import type { Row } from "../services/expressions.ts";
import type { Bench } from "./bench.ts";

/** Judges that a key names one live job at most, and stays until that job has ended. */
export function keysOf({ broken }: Bench) {
  const holders = new Map<string, Set<string>>();
  return {
    written({ id, topic, key }: Home, after: Home | undefined): void {
      const name = `${topic} ${key}`;
      const live = holders.get(name) ?? new Set();
      holders.set(name, live);
      if (after && !isFinished(after)) live.add(id);
      else live.delete(id);
      if (live.size > 1) broken(id, `key ${key} names ${[...live].join(" and ")}, both live`);
    },
    freed(home: Home | undefined, item: Row): void {
      if (home && !isFinished(home)) broken(home.id, `its key is let go: ${JSON.stringify(item)}`);
    },
  };
}
