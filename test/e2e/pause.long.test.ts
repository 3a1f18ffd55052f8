import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { PAUSE_KNOWN_FOR } from "../../src/core/constants.ts";
import { type JobView, sharedApi } from "./api.ts";

type Topic = { pause?: { state: string; since: string; ratePerSecond?: number; parked: number } };

const api = sharedApi();

/** No other file uses this topic, because a pause holds all its jobs. For the same reason the tests run in order. */
describe("precise", () => {
  afterAll(async () => {
    await api.call("POST", "/topics/precise/resume", {});
  });

  it("a millisecond job is held in its consumer and never starts early", async () => {
    const { body } = await api.call<{ results: { job: JobView }[] }>("POST", "/jobs/batch", {
      jobs: Array.from({ length: 20 }, (_, i) => ({ topic: "precise", delay: 2 + i * 0.137, body: i })),
    });
    expect(body.results).toHaveLength(20);
    for (const { job } of body.results) {
      const { claimedAt = "" } = await api.until(job.id, ({ state }) => state === "done");
      expect(Date.parse(claimedAt)).toBeGreaterThanOrEqual(Date.parse(job.dueAt));
    }
  });

  it("a paused topic starts neither new jobs nor jobs that were sent before, and both can be cancelled", async () => {
    const sent = await api.file({ topic: "precise", delay: 60 });
    const sentToo = await api.file({ topic: "precise", delay: 60 });
    await pause();
    const [parked, parkedToo] = [await fileNow(), await fileNow()];
    // The jobs that were sent before may be parked too, when a consumer receives their messages.
    await expect.poll(parkedNow).toBeGreaterThanOrEqual(2);
    expect((await topic()).pause).toMatchObject({ state: "paused" });
    for (const { id } of [sentToo, parkedToo])
      expect(await api.call("DELETE", `/jobs/${id}`)).toMatchObject({
        status: 200,
        body: { state: "cancelled" },
      });
    // Wait until two seconds after the message of `sent` became visible.
    await sleep(Math.max(Date.parse(sent.dueAt) + 2000 - Date.now(), 0));
    for (const { id } of [sent, parked]) {
      const held = await api.get(id);
      expect(held).toMatchObject({ state: "scheduled", attempt: 0 });
      expect(held).not.toHaveProperty("claimedAt");
    }

    const resumedAt = Date.now();
    expect(await api.call("POST", "/topics/precise/resume")).toMatchObject({
      status: 200,
      body: { topic: "precise", released: expect.any(Number), left: 0 },
    });
    for (const { id } of [sent, parked]) {
      const done = await api.until(id, ({ state }) => state === "done");
      expect(done.attempt).toBe(1);
      expect(Date.parse(done.claimedAt ?? "")).toBeGreaterThan(resumedAt);
    }
    const { dueAt, heldUntil = "" } = await api.get(parked.id);
    expect(dueAt).toBe(parked.dueAt);
    expect(Date.parse(heldUntil)).toBeGreaterThan(resumedAt);
    for (const { id } of [sentToo, parkedToo])
      expect(await api.get(id)).toMatchObject({ state: "cancelled", attempt: 0 });
  });

  it("a resume at a rate lets one job after the other start, the oldest first", async () => {
    await pause();
    const jobs = [await fileNow(), await fileNow(), await fileNow()];
    await expect.poll(parkedNow).toBe(3);
    const resumedAt = Date.now();
    const resume = await api.call("POST", "/topics/precise/resume", { ratePerSecond: 0.2 });
    expect(resume.body).toEqual({ topic: "precise", released: 3, left: 0 });
    expect((await topic()).pause).toMatchObject({ state: "resuming", ratePerSecond: 0.2, parked: 0 });
    const done: JobView[] = [];
    // Lambda may take a minute until it polls the queue again. No job gets a start before that.
    for (const { id } of jobs) done.push(await api.until(id, ({ state }) => state === "done"));
    const starts = done.map(({ heldUntil = "" }) => Date.parse(heldUntil));
    // If the time of a start comes while the release still works, that start is put off, and the later starts are not.
    for (const [i, start] of starts.entries()) expect(start).toBeGreaterThanOrEqual(resumedAt + i * 5000);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    for (const { heldUntil = "", claimedAt = "", attempt } of done) {
      expect(attempt).toBe(1);
      expect(Date.parse(claimedAt)).toBeGreaterThanOrEqual(Date.parse(heldUntil));
    }
  });

  it("an unknown topic can neither be paused nor resumed", async () => {
    for (const verb of ["pause", "resume"])
      expect(await api.call("POST", `/topics/none/${verb}`)).toMatchObject({
        status: 404,
        body: { code: "unknown-topic" },
      });
  });
});

async function pause(): Promise<void> {
  expect(await api.call("POST", "/topics/precise/pause")).toMatchObject({
    status: 200,
    body: { topic: "precise", state: "paused" },
  });
  await sleep(PAUSE_KNOWN_FOR);
}

function fileNow(): Promise<JobView> {
  return api.file({ topic: "precise", delay: 0 });
}

async function parkedNow(): Promise<number | undefined> {
  return (await topic()).pause?.parked;
}

async function topic(): Promise<Topic> {
  return (await api.call<Topic>("GET", "/topics/precise")).body;
}
