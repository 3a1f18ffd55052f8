import type { EventRule } from "../../src/settings/event-rules.ts";
import { NOTICES, noticeSource } from "../../src/settings/notices.ts";
import type { DelayQueueProps } from "../props.ts";

/**
 * Answers a sentence for each topic whose events of `notify` can file jobs of the same topic by `enqueueOn`, directly or by way of other topics.
 * `maxFiledPerChain` does not bound such a loop: a job that an event files begins a chain of its own.
 */
export function notifyLoops(
  prefix: string,
  topics: DelayQueueProps["topics"],
  rules: readonly EventRule[],
): string[] {
  const enqueues = rules.filter((rule) => rule.do === "enqueue");
  const filedBy = (topic: string): string[] =>
    (topics[topic]?.notify ?? []).flatMap((end) =>
      enqueues
        .filter(
          ({ source = noticeSource(prefix, topic), detailType }) =>
            source === noticeSource(prefix, topic) && detailType === NOTICES[end],
        )
        .map((rule) => rule.topic),
    );
  return Object.keys(topics).flatMap((topic) => {
    const loop = wayBack(topic, filedBy);
    if (loop === undefined) return [];
    const way = loop.map((one) => `"${one}"`).join(" to ");
    return [
      `topic "${topic}" can file jobs without end: its notify puts an event on the bus for a job that has run, and enqueueOn files a job by ` +
        `that event (${way}). maxFiledPerChain does not count these jobs. Name another source or detailType in enqueueOn, or fewer ends in notify`,
    ];
  });
}

/** The shortest way from a topic back to itself, with both ends. `undefined`: there is none. */
function wayBack(topic: string, next: (topic: string) => string[]): string[] | undefined {
  const ways = [[topic]];
  const seen = new Set<string>();
  for (const way of ways)
    for (const one of next(way.at(-1) ?? "")) {
      if (one === topic) return [...way, one];
      if (!seen.has(one)) ways.push([...way, one]);
      seen.add(one);
    }
  return undefined;
}
