import { clockOff } from "../general/clock-off.ts";
import type { TopicJson } from "../http/answers/topics.ts";

/** How long an answer of the API is used, ms. Then it is read again: a deployment can add topics, and a clock can be set. */
const KEPT_MS = 30_000;

type Topics = readonly Pick<TopicJson, "topic" | "at">[];

export type KnownQueue = {
  /** The names of the queue's topics. `sure`: a topic that is not among the known ones may be new, so the API is asked again. */
  readonly topics: (sure?: string) => Promise<readonly string[]>;
  /** The present time on the queue's clock, ms since the epoch. If the API does not answer, the last known difference of the clocks counts. */
  readonly now: () => Promise<number>;
};

/** What the API says of the queue. `clock`: this machine's. */
export function knownQueue(read: () => Promise<Topics>, clock: () => number): KnownQueue {
  let off = 0;
  let kept: { readonly until: number; readonly names: Promise<readonly string[]> } | undefined;

  async function ask(): Promise<readonly string[]> {
    const sent = clock();
    const topics = await read();
    const [first] = topics;
    if (first !== undefined) off = clockOff(Date.parse(first.at), sent, clock());
    return topics.map(({ topic }) => topic);
  }

  function fresh(): Promise<readonly string[]> {
    const asked = { until: clock() + KEPT_MS, names: ask() };
    kept = asked;
    asked.names.catch(() => {
      if (kept === asked) kept = undefined;
    });
    return asked.names;
  }

  const known = () => (kept && clock() < kept.until ? kept.names : fresh());
  return {
    async topics(sure) {
      const names = await known();
      return sure === undefined || names.includes(sure) ? names : fresh();
    },
    now: async () => {
      await known().catch(() => {});
      return clock() + off;
    },
  };
}
