import { expect } from "vitest";
import type { JobSummary } from "../../src/client/answers.ts";
import type { Client } from "../../src/client/client.ts";
import { PATIENCE_MS } from "../patience.ts";

/** Jobs in the states that a person meets, by what is special about them. */
export type Scene = Record<
  "waiting" | "tagged" | "done" | "dead" | "retried" | "cancelled" | "held",
  JobSummary
>;

/** As a worker and a user would, in the pull topic `work`. `name` begins all keys, so that two scenes do not meet. */
export async function playScene(api: Client, name: string): Promise<Scene> {
  const file = (key: string, delay: number, options: object = {}) =>
    api.enqueue("work", { orderId: key }, { key: `${name}-${key}`, delay, ...options });
  const ended = ["done", "dead", "retried"] as const;
  const jobs = Object.fromEntries(
    await Promise.all(ended.map(async (key) => [key, await file(key, 0, { maxAttempts: 3 })])),
  ) as Record<(typeof ended)[number], JobSummary>;

  await settleAll(api, Object.values(jobs));
  const waiting = await file("waiting", 1200, { tag: `${name}-tag`, headers: { "x-shop": "17" } });
  const tagged = await file("tagged", 1800, { tag: `${name}-tag`, group: `${name}-group` });
  const { id } = await file("cancelled", 1500);
  const cancelled = await api.cancel(id);
  // The window of one of these two topics is closed now.
  const windows = await Promise.all(
    ["days", "nights"].map((topic) => api.enqueue(topic, {}, { key: `${name}-held-${topic}`, delay: 1 })),
  );
  return { ...jobs, waiting, tagged, cancelled, held: await firstHeld(api, windows) };
}

async function settleAll(api: Client, jobs: readonly JobSummary[]): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  const isUnsettled = async ({ id }: JobSummary) => {
    const { state, attempt } = await api.get(id);
    return state === "running" || (state === "scheduled" && attempt === 0);
  };
  while ((await Promise.all(jobs.map(isUnsettled))).includes(true)) {
    expect(Date.now()).toBeLessThan(end);
    // A job of another scene may come too. What is to become of a job stands in its body, so each scene settles the jobs of all.
    for (const { body, receipt } of await api.receive("work", { max: 10, waitSeconds: 1 })) {
      const { orderId } = body as { orderId?: string };
      if (orderId === "done") await api.finish("work", receipt);
      if (orderId === "dead")
        await api.bury("work", receipt, { error: "TypeError: cannot read the price of order 17" });
      if (orderId === "retried")
        await api.retry("work", receipt, { delay: "1h", error: "the shop answered 503" });
    }
  }
}

async function firstHeld(api: Client, jobs: readonly JobSummary[]): Promise<JobSummary> {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    expect(Date.now()).toBeLessThan(end);
    const now = await Promise.all(jobs.map((job) => api.get(job.id)));
    const held = now.find(({ heldUntil }) => heldUntil !== undefined);
    if (held !== undefined) return held;
  }
}
