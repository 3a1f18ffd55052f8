import { describe, expect, it } from "vitest";
import { sharedApi } from "./api.ts";
import { startsOf } from "./starts.ts";
import { SWEPT_AFTER } from "./swept.ts";

const api = sharedApi();

describe.concurrent("on time", () => {
  // The writer itself sends jobs that are due in 1 to 70 s. The last job is left to a sweep.
  it.for([1, 2, 5, 70, SWEPT_AFTER])(
    "a job due in %i seconds runs once, and not before it is due",
    async (delay) => {
      const { id } = await api.file({ topic: "reminders", delay, body: { text: `due in ${delay} s` } });
      const job = await api.until(id, ({ state }) => state === "done");
      const dueAt = Date.parse(job.dueAt);
      expect(Date.parse(job.claimedAt ?? "")).toBeGreaterThanOrEqual(dueAt);
      expect(job.attempt).toBe(1);
      const starts = await startsOf(id);
      expect(starts).toHaveLength(1);
      expect(starts[0]).toBeGreaterThanOrEqual(dueAt);
    },
  );
});
