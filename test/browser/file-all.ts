import { expect } from "vitest";
import type { Client } from "../../src/client/client.ts";
import type { EnqueueOptions } from "../../src/client/options.ts";

/** Each with a key, at most 500 a call. On a slow machine the database may answer too late for some, so the call is repeated. */
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
