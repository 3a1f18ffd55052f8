import type { TopicJson } from "../http/answers/topics.ts";

/** The late jobs of a topic, if there are some. The API of an earlier version does not count them. */
export function lateIn({ late }: Partial<TopicJson>): TopicJson["late"][] {
  return late === undefined || late.count === 0 ? [] : [late];
}
