import { describe, expect, inject, it } from "vitest";
import { type JobView, sharedApi } from "./api.ts";
import { startsOf } from "./starts.ts";

const api = sharedApi();

describe.concurrent("on time", () => {
  // 1 to 70 s are sent by their writer, 225 s is left to the sweep of a later minute.
  it.for([1, 2, 5, 70, 225])("a job due in %i seconds runs, once and not before", async (delay) => {
    const id = inject("waiting")[delay] ?? "";
    const job = await api.until(id, ({ state }) => state === "done", delay * 1000 + 20_000);
    const dueAt = Date.parse(job.dueAt);
    expect(Date.parse(job.claimedAt ?? "")).toBeGreaterThanOrEqual(dueAt);
    expect(job.attempt).toBe(1);
    const starts = await startsOf(id);
    expect(starts).toHaveLength(1);
    expect(starts[0]).toBeGreaterThanOrEqual(dueAt);
  });

  it("a millisecond job is held in its consumer and never starts early", async () => {
    const { body } = await api.call<{ results: { job: JobView }[] }>("POST", "/jobs/batch", {
      jobs: Array.from({ length: 20 }, (_, i) => ({ topic: "precise", delay: 2 + i * 0.137, body: i })),
    });
    expect(body.results).toHaveLength(20);
    for (const { job } of body.results) {
      const { claimedAt = "" } = await api.until(job.id, ({ state }) => state === "done", 20_000);
      expect(Date.parse(claimedAt)).toBeGreaterThanOrEqual(Date.parse(job.dueAt));
    }
  });
});
