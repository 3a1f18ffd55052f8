import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type JobView, sharedApi } from "./api.ts";

const api = sharedApi();

describe.concurrent("cancel", () => {
  it("a cancelled job never runs, although its message waits in SQS", async () => {
    const job = await api.file({ topic: "reminders", delay: 60, body: { text: "never" } });
    expect((await api.call("DELETE", `/jobs/${job.id}`)).body).toMatchObject({ state: "cancelled" });
    expect(await api.call("DELETE", `/jobs/${job.id}`)).toMatchObject({
      status: 200,
      body: { state: "cancelled" },
    });
    await pastMessageOf(job);
    const after = await api.get(job.id);
    expect(after).toMatchObject({ state: "cancelled", attempt: 0 });
    expect(after).not.toHaveProperty("claimedAt");
  });

  it("one call cancels many jobs, and answers for each job", async () => {
    const first = await api.file({ topic: "reminders", delay: 3600 });
    const done = await api.file({ topic: "reminders", delay: 0 });
    await api.until(done.id, ({ state }) => state === "done");
    const unknown = `7${first.id.slice(1, 12)}00000000000000`;
    const { status, body } = await api.call("POST", "/jobs/cancel", { ids: [first.id, done.id, unknown] });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      results: [
        { id: first.id, status: 200, job: { state: "cancelled" } },
        { id: done.id, status: 409, error: { code: "job-finished" } },
        { id: unknown, status: 404, error: { code: "job-not-found" } },
      ],
    });
  });

  it("a running job cannot be cancelled", async () => {
    const job = await api.file({ topic: "reminders", delay: 0, body: { takes: 20_000 } });
    await api.until(job.id, ({ state }) => state === "running");
    expect(await api.call("DELETE", `/jobs/${job.id}`)).toMatchObject({
      status: 409,
      body: { code: "job-running" },
    });
    await api.until(job.id, ({ state }) => state === "done");
  });

  it("a job cancelled by its caller's key never runs either", async () => {
    const path = `/topics/reminders/jobs/cancel-${randomUUID()}`;
    expect((await api.call("PUT", path, { delay: 60, body: null })).status).toBe(201);
    const { body } = await api.call("DELETE", path);
    await pastMessageOf(body);
    expect(await api.get(body.id)).toMatchObject({ state: "cancelled", attempt: 0 });
  });
});

/** Waits until a job has run that is due after `dueAt`. By then the message of a job that was due at `dueAt` has come too. */
async function pastMessageOf({ dueAt }: JobView): Promise<void> {
  const later = await api.file({
    topic: "reminders",
    dueAt: new Date(Date.parse(dueAt) + 1000).toISOString(),
  });
  await api.until(later.id, ({ state }) => state === "done");
}
