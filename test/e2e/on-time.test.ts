import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { sharedApi } from "./api.ts";

const api = sharedApi();

describe.concurrent("on time", () => {
  // 1 to 70 s are sent by their writer, 250 s is left to the sweep of a later minute.
  it.for([1, 2, 5, 70, 250])("a job due in %i seconds runs, once and not before", async (delay) => {
    const id = inject("waiting")[delay] ?? "";
    const job = await api.until(id, ({ state }) => state === "done", delay * 1000 + 20_000);
    const dueAt = Date.parse(job.dueAt);
    expect(Date.parse(job.claimedAt ?? "")).toBeGreaterThanOrEqual(dueAt);
    expect(job.attempt).toBe(1);
    const starts = startsOf(id);
    expect(starts).toHaveLength(1);
    expect(starts[0]).toBeGreaterThanOrEqual(dueAt);
  });

  it("a millisecond job is held in its consumer and never starts early", async () => {
    const jobs = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.file({ topic: "precise", delay: 2 + i * 0.137, body: i })),
    );
    for (const { id, dueAt } of jobs) {
      const job = await api.until(id, ({ state }) => state === "done", 20_000);
      expect(Date.parse(job.claimedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(dueAt));
    }
  });
});

/** When the handler says it started a reminder, ms since the epoch. */
function startsOf(id: string): number[] {
  const lines = readFileSync(inject("logFile"), "utf8").split("\n");
  return lines.flatMap((line) => {
    if (!line.includes(" reminder ") || !line.includes(id)) return [];
    const at = /startedAt[=:" ]+(\d{13})/.exec(line)?.[1];
    return at ? [Number(at)] : [];
  });
}
