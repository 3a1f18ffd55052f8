import { expect } from "vitest";
import type { Client, EnqueueOptions } from "../../client/client.ts";

/**
 * Files jobs, each with a key, in calls of at most 500 jobs. On a slow machine the database may answer too late for some jobs of a
 * call. Then the call is repeated until each job is filed.
 */
export async function fileAll(
  api: Client,
  jobs: readonly (EnqueueOptions & { readonly key: string })[],
): Promise<void> {
  const keeping = jobs.map((job) => ({ ...job, topic: "work", body: {}, onDuplicate: "keep" as const }));
  for (let first = 0; first < keeping.length; first += 500) {
    const part = keeping.slice(first, first + 500);
    await expect
      .poll(async () => (await api.enqueueMany(part)).filter((answer) => answer instanceof Error))
      .toEqual([]);
  }
}
