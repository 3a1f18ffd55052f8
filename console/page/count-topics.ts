export type Minute = { readonly minute: string; readonly count: number };

/**
 * Answers each topic with its minutes. The API reads all jobs of a range whichever topic it counts, so first count all topics together and
 * end when their jobs are found. `topics`: those with most jobs first. `read`: counts one topic or all.
 */
export async function* countTopics(
  topics: readonly string[],
  read: (topic: string | undefined) => Promise<readonly Minute[]>,
): AsyncGenerator<{ readonly topic: string; readonly minutes: readonly Minute[] }> {
  // With one topic there is nothing to leave out.
  let left = topics.length > 1 ? sumOf(await read(undefined)) : Number.POSITIVE_INFINITY;
  for (const topic of topics) {
    if (left <= 0) return;
    const minutes = await read(topic);
    left -= sumOf(minutes);
    yield { topic, minutes };
  }
}

function sumOf(minutes: readonly Minute[]): number {
  return minutes.reduce((sum, { count }) => sum + count, 0);
}
