import type { Promotions } from "../protocol/ports.ts";

export type MemoryPromotions = Promotions & {
  /** When each schedule fires, in ms since the epoch, by the id of its job. */
  readonly filed: ReadonlyMap<string, number>;
  readonly calls: { put: number; remove: number };
  /** Thrown by every call while it is set. */
  trouble: Error | undefined;
  /** Answers the ids whose schedules are due, and deletes those schedules, as Scheduler does after they have fired. */
  fire(): string[];
};

/** Creates one-time schedules in memory. Their times are cut to seconds, as in EventBridge Scheduler. `clock`: ms since the epoch. */
export function memoryPromotions({ clock }: { clock: () => number }): MemoryPromotions {
  const filed = new Map<string, number>();
  const calls = { put: 0, remove: 0 };
  const fake: MemoryPromotions = {
    filed,
    calls,
    trouble: undefined,
    async put(id, time) {
      calls.put += 1;
      if (fake.trouble) throw fake.trouble;
      filed.set(id, time - (time % 1000));
    },
    async remove(id) {
      calls.remove += 1;
      if (fake.trouble) throw fake.trouble;
      filed.delete(id);
    },
    fire() {
      const due = [...filed].filter(([, time]) => time <= clock()).map(([id]) => id);
      for (const id of due) filed.delete(id);
      return due;
    },
  };
  return fake;
}
