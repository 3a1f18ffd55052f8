import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type JobView, sharedApi } from "./api.ts";
import { here } from "./here.ts";

const api = sharedApi();
const { skip, title } = here("local-commands", "on the local stack");
const HOUR = 3_600_000;

type Part = { matched: number; changed: number; cursor?: string };

/** Makes all calls of a bulk over those `reminders` that are due in the next two hours. Answers the sums of their counts. */
async function bulk(request: object): Promise<Part> {
  const range = { from: new Date().toISOString(), to: new Date(Date.now() + 2 * HOUR).toISOString() };
  const sums = { matched: 0, changed: 0 };
  let cursor: string | undefined;
  do {
    const body = { topic: "reminders", ...range, ...request, ...(cursor === undefined ? {} : { cursor }) };
    const answered = await api.call<Part>("POST", "/jobs/bulk", body);
    expect(answered).toMatchObject({ status: 200, body: { matched: expect.any(Number) } });
    sums.matched += answered.body.matched;
    sums.changed += answered.body.changed;
    cursor = answered.body.cursor;
  } while (cursor !== undefined);
  return sums;
}

async function tagged(tag: string): Promise<JobView[]> {
  const jobs = [];
  for (let i = 0; i < 3; i++) jobs.push(await api.file({ topic: "reminders", delay: 3600 + i, tag }));
  return jobs;
}

describe.skipIf(skip)(title, () => {
  it("all jobs are in one shard, so that a bulk of a day reads few buckets", async () => {
    const jobs = await tagged(`bulk-${randomUUID()}`);
    // The characters of a job's id that name its shard.
    expect(jobs.map(({ id }) => id.slice(10, 12))).toEqual(["00", "00", "00"]);
  });
});

describe.concurrent("an erase", () => {
  it("deletes the jobs of a tag that wait and that have run, and tells that none is left", async () => {
    const tag = `erased-${randomUUID()}`;
    const waiting = await tagged(tag);
    const done = await api.file({ topic: "reminders", delay: 0, tag, key: tag });
    await api.until(done.id, ({ state }) => state === "done");
    const other = await api.file({ topic: "reminders", delay: 3600 });
    const erase = async (request: object): Promise<Part> => {
      const sums = { matched: 0, changed: 0 };
      let cursor: string | undefined;
      do {
        const body = { tag, ...request, ...(cursor === undefined ? {} : { cursor }) };
        const answered = await api.call<Part>("POST", "/jobs/erase", body);
        expect(answered).toMatchObject({ status: 200, body: { matched: expect.any(Number), skipped: {} } });
        sums.matched += answered.body.matched;
        sums.changed += answered.body.changed;
        cursor = answered.body.cursor;
      } while (cursor !== undefined);
      return sums;
    };
    expect(await erase({ dryRun: true })).toEqual({ matched: 4, changed: 0 });
    expect(await erase({})).toEqual({ matched: 4, changed: 4 });
    expect(await erase({ dryRun: true })).toEqual({ matched: 0, changed: 0 });
    for (const { id } of [...waiting, done])
      expect(await api.call("GET", `/jobs/${id}`)).toMatchObject({ status: 404 });
    expect(await api.call("GET", `/topics/reminders/jobs/${tag}`)).toMatchObject({ status: 404 });
    expect(await api.get(other.id)).toMatchObject({ state: "scheduled" });
  });
});

describe.concurrent("a bulk", () => {
  it("counts the jobs of a tag, then cancels them", async () => {
    const tag = `bulk-${randomUUID()}`;
    const jobs = await tagged(tag);
    const other = await api.file({ topic: "reminders", delay: 3600 });
    expect(await bulk({ action: "cancel", tag, dryRun: true })).toEqual({ matched: 3, changed: 0 });
    expect(await bulk({ action: "cancel", tag })).toEqual({ matched: 3, changed: 3 });
    for (const { id } of jobs) expect(await api.get(id)).toMatchObject({ state: "cancelled" });
    expect(await api.get(other.id)).toMatchObject({ state: "scheduled" });
  });

  it("moves the jobs of a tag, then runs them now", async () => {
    const tag = `bulk-${randomUUID()}`;
    const jobs = await tagged(tag);
    expect(await bulk({ action: "move", delay: "90m", tag })).toEqual({ matched: 3, changed: 3 });
    for (const { id } of jobs) expect(await api.get(id)).toMatchObject({ state: "scheduled", revision: 1 });
    expect(await bulk({ action: "run", tag })).toEqual({ matched: 3, changed: 3 });
    for (const { id } of jobs) {
      const done = await api.until(id, ({ state }) => state === "done");
      expect(done).toMatchObject({ revision: 2, attempt: 1 });
    }
  });
});
