import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { PATIENCE_MS } from "../patience.ts";
import { type JobView, sharedApi } from "./api.ts";
import { putEvent } from "./services.ts";

const api = sharedApi();
const newKey = () => `e2e-${randomUUID()}`;
const isDone = ({ state }: JobView) => state === "done";
const isCancelled = ({ state }: JobView) => state === "cancelled";

describe.concurrent("an event", () => {
  it("cancels the job of its key, and no job of another key", async () => {
    const [key, other] = [newKey(), newKey()];
    const job = await api.file({ topic: "reminders", key, delay: "1h" });
    const beside = await api.file({ topic: "reminders", key: other, delay: "1h" });
    await putEvent("ReminderDone", { key });
    expect(await api.until(job.id, isCancelled)).toMatchObject({ attempt: 0 });
    expect(await api.get(beside.id)).toMatchObject({ state: "scheduled" });
    await api.call("DELETE", `/jobs/${beside.id}`);
  });

  it("also cancels the job of its key if it comes before the job", async () => {
    // If the event is applied before the job is filed, the job is filed as cancelled. Else the event cancels it afterwards: wait longer.
    for (const seconds of [0.5, 2, 8, 20, 60, 120, 240]) {
      const key = newKey();
      await putEvent("ReminderDone", { key });
      await sleep(seconds * 1000);
      const job = await api.file({ topic: "reminders", key, delay: "1h" });
      if (isCancelled(job)) return;
      await api.until(job.id, isCancelled);
    }
    throw new Error("no event cancelled a job that was filed after it");
  });

  it("enqueues a job of its key, which runs with the event's detail as its body", async () => {
    const detail = { key: newKey(), text: "asked for" };
    await putEvent("ReminderAsked", detail);
    const { id, key } = await filedFor(detail.key);
    const done = await api.until(id, isDone);
    expect({ key, ...done }).toMatchObject({ key: detail.key, attempt: 1, body: detail });
  });

  it("that comes twice enqueues one job", async () => {
    // Both events are applied before the job has ended, or the second would enqueue a job of its own.
    const detail = { key: newKey(), takes: 20_000 };
    await putEvent("ReminderAsked", detail, 2);
    const { id, dueAt } = await filedFor(detail.key);
    expect(await api.until(id, isDone)).toMatchObject({ attempt: 1, revision: 0 });
    const from = new Date(Date.parse(dueAt) - 60_000).toISOString();
    const to = new Date(Date.parse(dueAt) + 60_000).toISOString();
    const { body } = await api.call<{ jobs: JobView[] }>(
      "GET",
      `/jobs?topic=reminders&from=${from}&to=${to}`,
    );
    expect(body.jobs.filter(({ key }) => key === detail.key).map((job) => job.id)).toEqual([id]);
  });
});

async function filedFor(key: string): Promise<JobView> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const { status, body } = await api.call("GET", `/topics/reminders/jobs/${key}`);
    if (status === 200) return body;
    if (Date.now() > end) throw new Error(`no event enqueued a job of key ${key}: ${JSON.stringify(body)}`);
    await sleep(200);
  }
}
