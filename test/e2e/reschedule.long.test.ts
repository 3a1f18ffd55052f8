import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sharedApi } from "./api.ts";

const api = sharedApi();

describe.concurrent("reschedule", () => {
  it("later: the message that waits in SQS is void, and the new message runs the job", async () => {
    const job = await api.file({ topic: "reminders", delay: 60 });
    const moved = await api.call("PATCH", `/jobs/${job.id}`, { delay: 75 });
    expect(moved).toMatchObject({ status: 200, body: { revision: 1 } });
    const done = await api.until(job.id, ({ state }) => state === "done");
    expect(done.attempt).toBe(1);
    expect(Date.parse(done.claimedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(moved.body.dueAt));
  });

  it("earlier: a job of tomorrow runs now, and only once", async () => {
    const job = await api.file({ topic: "reminders", delay: "1d" });
    await api.call("PATCH", `/jobs/${job.id}`, { delay: 1 });
    expect(await api.until(job.id, ({ state }) => state === "done")).toMatchObject({
      attempt: 1,
      revision: 1,
    });
  });

  it("PUT replaces the job of a key, and files a new job when the old one is done", async () => {
    const path = `/topics/reminders/jobs/order-${randomUUID()}`;
    const first = await api.call("PUT", path, { delay: "1h", body: { text: "one" } });
    const second = await api.call("PUT", path, { delay: 0, body: { text: "two" } });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body).toMatchObject({ id: first.body.id, body: { text: "two" } });
    await api.until(first.body.id, ({ state }) => state === "done");
    const third = await api.call("PUT", path, { delay: "1h", body: null });
    expect(third.status).toBe(201);
    expect(third.body.id).not.toBe(first.body.id);
    expect((await api.call("GET", path)).body).toMatchObject({ id: third.body.id });
  });
});
