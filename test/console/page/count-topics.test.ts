import { expect, test } from "vitest";
import { countTopics } from "../../../console/page/count-topics.ts";

const MINUTE = "2026-03-01T09:00:00.000Z";

/** Counts topics with these numbers of jobs. Answers what was found, and what was read: `all`, or a topic. */
async function count(topics: readonly string[], jobs: Readonly<Record<string, number>>) {
  const reads: string[] = [];
  const found: Record<string, number> = {};
  const read = async (topic = "all") => {
    reads.push(topic);
    const all = Object.values(jobs).reduce((sum, one) => sum + one, 0);
    const of = topic === "all" ? all : (jobs[topic] ?? 0);
    return of === 0 ? [] : [{ minute: MINUTE, count: of }];
  };
  for await (const { topic, minutes } of countTopics(topics, read))
    found[topic] = minutes.reduce((sum, one) => sum + one.count, 0);
  return { reads, found };
}

test("topics behind the last job are not read", async () => {
  const { reads, found } = await count(["a", "b", "c", "d"], { a: 5, b: 1 });
  expect({ reads, found }).toEqual({ reads: ["all", "a", "b"], found: { a: 5, b: 1 } });
});

test("a range without jobs takes one read", async () => {
  expect(await count(["a", "b", "c"], {})).toEqual({ reads: ["all"], found: {} });
});

test("one topic is read without the others", async () => {
  expect(await count(["b"], { a: 5, b: 1 })).toEqual({ reads: ["b"], found: { b: 1 } });
});

test("jobs of a topic that is not shown do not hide the topics that are", async () => {
  const { found } = await count(["a", "b", "c"], { a: 1, gone: 3, c: 2 });
  expect(found).toEqual({ a: 1, b: 0, c: 2 });
});
