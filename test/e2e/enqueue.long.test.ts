import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type JobView, sharedApi } from "./api.ts";

const api = sharedApi();
const isDone = ({ state }: JobView) => state === "done";

describe.concurrent("enqueue", () => {
  it("with a spread files jobs that are due at different times, none earlier than requested", async () => {
    const asked = Date.now() + 30_000;
    const job = { topic: "reminders", dueAt: new Date(asked).toISOString(), spread: 3, body: null };
    const { status, body } = await api.call<{ results: { job: JobView }[] }>("POST", "/jobs/batch", {
      jobs: [job, job, job, job, job],
    });
    expect(status).toBe(200);
    const dueAt = body.results.map((result) => Date.parse(result.job.dueAt));
    expect(new Set(dueAt).size).toBeGreaterThan(1);
    expect(Math.min(...dueAt)).toBeGreaterThanOrEqual(asked);
    expect(Math.max(...dueAt)).toBeLessThan(asked + 3000);
    for (const result of body.results) await api.until(result.job.id, isDone);
  });

  it("with onDuplicate postpone moves its key's job at most to the first call's bound, and the timeline shows the move", async () => {
    const search = { topic: "reminders", key: `index-${randomUUID()}`, onDuplicate: "postpone" };
    const maxDelay = 63;
    const first = await api.file({ ...search, delay: 60, maxDelay });
    const bound = new Date(Date.parse(first.createdAt) + maxDelay * 1000).toISOString();
    const later = await api.call("POST", "/jobs", {
      ...search,
      delay: "1h",
      maxDelay: "2h",
      body: { text: "last" },
    });
    expect(later).toMatchObject({
      status: 200,
      body: { id: first.id, revision: 1, dueAt: bound, postponeUntil: bound, body: { text: "last" } },
    });
    const done = await api.until(first.id, isDone);
    expect(done).toMatchObject({ attempt: 1, body: { text: "last" } });
    expect(Date.parse(done.claimedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(bound));
    expect(done.timeline?.map(({ event }) => event)).toEqual(["filed", "moved", "sent", "claimed", "done"]);
  });
});
