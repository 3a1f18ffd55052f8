/** How many jobs are due in a minute. `minute`: its beginning, ISO 8601. */
export type Minute = { readonly minute: string; readonly count: number };

/**
 * Counts the jobs of each topic, and answers each topic with its minutes. The API reads all jobs of a range whichever topic it
 * counts, so this first counts the jobs of all topics together, and ends when it has found all of them. Topics without jobs then
 * cost nothing. `topics`: those with most jobs first, so that it ends early.
 *
 * @param read counts the jobs of a topic, or of all topics
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
