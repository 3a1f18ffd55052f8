import type { LogLine } from "../log-lines.ts";

/** What functions have logged about events that they applied, for whoever put the events. */
export type AppliedEvents = {
  readonly heard: (line: Pick<LogLine, "event">) => void;
  /** Call this before the event is sent. The result waits for a log record of each of `queues` queues, and answers what the rules did. */
  readonly expect: (eventId: string) => (queues: number) => Promise<readonly unknown[] | undefined>;
};

/** A function may need some seconds for its first start. */
const PATIENCE = 30_000;

export function createAppliedEvents(patience = PATIENCE): AppliedEvents {
  const listeners = new Map<string, (service: string, rules: readonly unknown[]) => void>();
  return {
    heard({ event }) {
      if (event?.type !== "event-applied" || !Array.isArray(event.rules)) return;
      listeners.get(String(event.event))?.(String(event.service), event.rules);
    },
    expect(eventId) {
      // A queue can deliver an event twice. Its first record counts.
      const told = new Map<string, readonly unknown[]>();
      let check = (): void => {};
      listeners.set(eventId, (service, rules) => {
        if (!told.has(service)) told.set(service, rules);
        check();
      });
      return async (queues) => {
        const all = Promise.withResolvers<readonly unknown[] | undefined>();
        check = () => void (told.size >= queues && all.resolve([...told.values()].flat()));
        check();
        const timer = setTimeout(() => all.resolve(undefined), patience);
        return all.promise.finally(() => {
          clearTimeout(timer);
          listeners.delete(eventId);
        });
      };
    },
  };
}
