import { describe, expect, it } from "vitest";
import { type JobView, sharedApi } from "./api.ts";
import { startsOf } from "./starts.ts";

const api = sharedApi();

describe.concurrent("retries, death and redrive", () => {
  it("a job that fails runs again after its backoff", async () => {
    const job = await api.file({ topic: "reminders", delay: 0, body: { fails: "not yet", failsUntil: 2 } });
    const done = await api.until(job.id, ({ state }) => state === "done");
    expect(done).toMatchObject({ attempt: 2, revision: 1, lastError: "not yet" });
    const events = done.timeline?.map(({ event }) => event);
    expect(events).toEqual(["filed", "sent", "claimed", "failed", "retried", "sent", "claimed", "done"]);
    expect(Date.parse(done.dueAt)).toBeGreaterThan(Date.parse(job.dueAt));
    expect(Date.parse(done.claimedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(done.dueAt));
  });

  it("a job without attempts left is dead and is listed with its error, and a redrive runs it again", async () => {
    const job = await api.file({ topic: "reminders", delay: 0, maxAttempts: 1, body: { fails: "no bank" } });
    const dead = await api.until(job.id, ({ state }) => state === "dead");
    expect(dead).toMatchObject({ attempt: 1, lastError: "no bank" });
    const list = await api.call<{ jobs: JobView[] }>("GET", "/topics/reminders/dead");
    expect(list.body.jobs).toContainEqual(expect.objectContaining({ id: job.id, lastError: "no bank" }));
    const redriven = await api.call("POST", "/topics/reminders/redrive", { ids: [job.id] });
    expect(redriven).toMatchObject({ status: 200, body: { redriven: 1 } });
    const again = await api.until(job.id, ({ state, revision }) => state === "dead" && revision === 1);
    expect(again.attempt).toBe(1);
  });

  it("retryIn uses up no attempt, and bury makes a job dead at once", async () => {
    const polled = await api.file({
      topic: "reminders",
      delay: 0,
      body: { retryIn: 2, retryUntil: soon(2) },
    });
    expect(await api.until(polled.id, ({ state }) => state === "done")).toMatchObject({ attempt: 1 });
    const buried = await api.file({ topic: "reminders", delay: 0, body: { bury: "closed" } });
    const dead = await api.until(buried.id, ({ state }) => state === "dead");
    expect(dead).toMatchObject({ attempt: 1, lastError: "closed" });
  });

  it("a job can have more runs in a row than Lambda's recursive loop detection allows", async ({
    expect,
  }) => {
    const polled = await api.file({
      topic: "reminders",
      delay: 0,
      body: { retryIn: 0, retryUntil: soon(3600) },
    });
    await api.until(polled.id, ({ revision }) => revision >= 40);
    // A running job cannot be cancelled, and this one runs most of the time. If it went on, it would keep the stack busy.
    await expect
      .poll(async () => (await api.call("DELETE", `/jobs/${polled.id}`)).status, { interval: 20 })
      .toBe(200);
  });

  it("an untracked job can also have more runs in a row than Lambda's recursive loop detection allows", async () => {
    const { id } = await api.file({
      topic: "readings",
      delay: 0,
      // Nobody can cancel this job. One run a second does not keep the stack busy, and there is time for many more runs than 20.
      body: { retryIn: 1, retryUntil: soon(300) },
    });
    await expect.poll(async () => (await startsOf(id)).length, { interval: 2000 }).toBeGreaterThan(20);
  });

  it("a job that is later than its `expiresAfter` allows expires", async () => {
    const job = await api.file({
      topic: "reminders",
      delay: 0,
      expiresAfter: 1,
      body: { retryIn: 3, retryUntil: soon(60) },
    });
    expect(await api.until(job.id, ({ state }) => state === "expired")).toMatchObject({ attempt: 0 });
  });
});

function soon(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}
