import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { PAUSE_KNOWN_FOR } from "../../src/core/constants.ts";
import { sharedApi } from "./api.ts";

const api = sharedApi();

/** The tests run one after the other, because a receive may take any job of its topic. */
describe("pull", () => {
  it("a pulled job is retried, then finished with its second receipt, and its first receipt is refused", async () => {
    const job = await api.file({ topic: "work", delay: 0, body: { n: 1 } });
    const first = await api.pull("work", job.id);
    const retry = { receipt: first.receipt, delay: 1, error: "busy" };
    expect(await api.call("POST", "/topics/work/retry", retry)).toMatchObject({
      status: 200,
      body: { revision: 1 },
    });
    const second = await api.pull("work", job.id);
    expect(second.attempt).toBe(2);
    const extended = await api.call("POST", "/topics/work/extend", { receipt: second.receipt, seconds: 60 });
    expect(extended.status).toBe(200);
    const finish = { receipt: second.receipt };
    expect(await api.call("POST", "/topics/work/finish", finish)).toMatchObject({
      status: 200,
      body: { state: "done" },
    });
    expect((await api.call("POST", "/topics/work/finish", finish)).status).toBe(200);
    const spent = await api.call("POST", "/topics/work/finish", { receipt: first.receipt });
    expect(spent).toMatchObject({ status: 409, body: { code: "claim-lost" } });
  });

  it("a job that only gets a new body keeps its due time", async () => {
    const job = await api.file({ topic: "work", delay: 30, body: "old" });
    const moved = await api.call("PATCH", `/jobs/${job.id}`, { body: "new" });
    expect(moved.body).toMatchObject({ dueAt: job.dueAt, body: "new" });
    const pulled = await api.pull("work", job.id);
    expect(pulled.body).toBe("new");
    await api.call("POST", "/topics/work/finish", { receipt: pulled.receipt });
  });

  it("an untracked job cannot be read, comes when it is due, and can be finished", async () => {
    const job = await api.file({ topic: "events", delay: 2, body: "e" });
    expect((await api.call("GET", `/jobs/${job.id}`)).status).toBe(404);
    const pulled = await api.pull("events", job.id);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(job.dueAt));
    expect((await api.call("POST", "/topics/events/finish", { receipt: pulled.receipt })).status).toBe(200);
  });

  it("a receive of a paused topic answers no jobs, and after the resume it answers them", async () => {
    const sent = await api.file({ topic: "work", delay: 0, body: "sent" });
    expect((await api.call("POST", "/topics/work/pause")).status).toBe(200);
    try {
      // Wait until all processes know of the pause.
      await sleep(PAUSE_KNOWN_FOR);
      const parked = await api.file({ topic: "work", delay: 0, body: "parked" });
      const none = await api.call("POST", "/topics/work/receive", { max: 10, waitSeconds: 2 });
      expect(none).toMatchObject({ status: 200, body: { jobs: [] } });
      expect((await api.call("POST", "/topics/work/resume")).status).toBe(200);
      for (const { id } of [sent, parked]) {
        const { receipt } = await api.pull("work", id);
        expect((await api.call("POST", "/topics/work/finish", { receipt })).status).toBe(200);
      }
    } finally {
      await api.call("POST", "/topics/work/resume");
    }
  });

  it("an untracked topic can be neither paused nor bulk-changed, and its stored jobs cannot be cancelled", async () => {
    const refused = { status: 409, body: { code: "untracked-topic" } };
    const { id } = await api.file({ topic: "events", delay: "1d", body: "far" });
    expect(await api.call("DELETE", `/jobs/${id}`)).toMatchObject(refused);
    expect(await api.call("POST", "/topics/events/pause")).toMatchObject(refused);
    expect(await api.call("POST", "/jobs/bulk", { action: "cancel", topic: "events" })).toMatchObject(
      refused,
    );
  });
});
