import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it, vi } from "vitest";
import { DAY, PROMOTE_BEFORE } from "../../src/core/constants.ts";
import { PATIENCE_MS } from "../patience.ts";
import { type JobView, sharedApi } from "./api.ts";
import { here } from "./here.ts";
import { promotionOf } from "./services.ts";
import { startsOf } from "./starts.ts";

type ScheduleView = { name: string; paused: boolean; next: string[]; body?: unknown };

const api = sharedApi();
const recurring = here("http-api", "recurring schedules");
const firing = here("occurrences", "a schedule files one job at its occurrence; a paused one files none");

describe.skipIf(recurring.skip)(recurring.title, { concurrent: true }, () => {
  afterAll(async () => {
    for (const name of names) await remove(name);
  });

  it.skipIf(firing.skip)(firing.title, async () => {
    const [name, paused] = [newName(), newName()];
    const { next } = (await put(name, { expression: "rate(1 minute)", tag: name })).body;
    await put(paused, { expression: "rate(1 minute)", tag: paused });
    const lost = (await change(paused, "pause")).body.next;
    const [first = ""] = next;
    const job = await vi.waitFor(
      async () => {
        const [filed] = await filedAt(first, name);
        if (filed === undefined) throw new Error(`schedule ${name} has filed no job for ${first}`);
        return filed;
      },
      { timeout: PATIENCE_MS, interval: 1000 },
    );
    const done = await api.until(job.id, ({ state }) => state === "done");
    expect(done).toMatchObject({ attempt: 1, body: { text: "again" } });
    expect(await startsOf(job.id)).toHaveLength(1);
    expect(await filedAt(first, name)).toHaveLength(1);
    expect(await filedAt(lost[0] ?? "", paused)).toEqual([]);
  });

  it("can be put, read, listed, paused, resumed, put again and deleted", async () => {
    const name = newName();
    // With a later start, no occurrence passes between two reads. Schedules start at whole seconds.
    const start = new Date(Math.ceil(Date.now() / 1000) * 1000 + 2 * DAY).toISOString();
    const fields = { expression: "cron(30 8 ? * MON-FRI *)", timezone: "Europe/Berlin", start };
    const { status, body: created, headers } = await put(name, fields);
    expect([status, headers.get("location")]).toEqual([201, `/schedules/${name}`]);
    expect(created).toMatchObject({ name, ...fields, topic: "reminders", paused: false });
    expect(created.next).toHaveLength(5);
    for (const time of created.next) {
      expect(time).toMatch(/T0[67]:30:00\.000Z$/);
      expect(new Date(time).getUTCDay() % 6).not.toBe(0);
    }
    expect(await read(name)).toMatchObject({ status: 200, body: { next: created.next } });
    const { schedules } = (await api.call<{ schedules: ScheduleView[] }>("GET", "/schedules")).body;
    expect(schedules.map((one) => one.name)).toContain(name);
    expect((await change(name, "pause")).body.paused).toBe(true);
    // A paused schedule stays paused when it is put again.
    expect(await put(name, { expression: "rate(2 hours)" })).toMatchObject({
      status: 200,
      body: { expression: "rate(2 hours)", timezone: "UTC", paused: true },
    });
    expect((await change(name, "resume")).body.paused).toBe(false);
    expect(await read(name)).toMatchObject({ status: 200, body: { paused: false } });
    expect(await remove(name)).toMatchObject({ status: 200, body: { name } });
    expect(await read(name)).toMatchObject({ status: 404, body: { code: "schedule-not-found" } });
  });

  it("file a job when run is called, even while they are paused, and only one for the same Idempotency-Key", async () => {
    const name = newName();
    await put(name, { expression: "rate(30 days)" });
    await change(name, "pause");
    const run = () =>
      api.call("POST", `/schedules/${name}/run`, undefined, { "idempotency-key": `run-${name}` });
    const first = await run();
    const again = await run();
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body.id).toBe(first.body.id);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const done = await api.until(first.body.id, ({ state }) => state === "done");
    expect(done).toMatchObject({ attempt: 1, body: { text: "again" } });
  });

  it("an unknown schedule or topic answers 404, and an expression that is invalid or never comes answers 400", async () => {
    const name = newName();
    const calls = [
      read(name),
      remove(name),
      change(name, "pause"),
      change(name, "resume"),
      change(name, "run"),
    ];
    for (const { status, body } of await Promise.all(calls))
      expect({ status, body }).toMatchObject({ status: 404, body: { code: "schedule-not-found" } });
    for (const expression of ["cron(0 8 * * * *)", "rate(0 minutes)", "at(2020-01-01T00:00:00)", "daily"])
      expect((await put(name, { expression })).status).toBe(400);
    expect((await put(name, { expression: "rate(1 day)", topic: "none" })).status).toBe(404);
  });
});

describe("a far job", () => {
  it("has a schedule of its own, which is moved with the job and deleted with it", async () => {
    const job = await api.file({ topic: "reminders", delay: "8d" });
    expect(await promotionOf(job.id)).toMatchObject({
      ScheduleExpression: firesBefore(job),
      ActionAfterCompletion: "DELETE",
      State: "ENABLED",
    });
    const moved = await api.call("PATCH", `/jobs/${job.id}`, { delay: "9d" });
    expect((await promotionOf(job.id))?.ScheduleExpression).toBe(firesBefore(moved.body));
    expect((await api.call("DELETE", `/jobs/${job.id}`)).status).toBe(200);
    expect(await promotionOf(job.id)).toBeUndefined();
  });

  it("loses its schedule when it is moved to a near time, and a job that was never far has none", async () => {
    const far = await api.file({ topic: "reminders", delay: "8d" });
    await api.call("PATCH", `/jobs/${far.id}`, { delay: "6d" });
    const near = await api.file({ topic: "reminders", delay: "6d" });
    for (const { id } of [far, near]) {
      expect(await promotionOf(id)).toBeUndefined();
      await api.call("DELETE", `/jobs/${id}`);
    }
  });
});

function firesBefore({ dueAt }: JobView): string {
  return `at(${new Date(Date.parse(dueAt) - PROMOTE_BEFORE).toISOString().slice(0, 19)})`;
}

const names: string[] = [];

function newName(): string {
  const name = `e2e-${randomUUID()}`;
  names.push(name);
  return name;
}

const read = (name: string) => api.call<ScheduleView>("GET", `/schedules/${name}`);
const remove = (name: string) => api.call<ScheduleView>("DELETE", `/schedules/${name}`);
const change = (name: string, verb: "pause" | "resume" | "run") =>
  api.call<ScheduleView>("POST", `/schedules/${name}/${verb}`);
const put = (name: string, fields: object) =>
  api.call<ScheduleView>("PUT", `/schedules/${name}`, {
    topic: "reminders",
    body: { text: "again" },
    ...fields,
  });

/** Of a schedule with `rate(1 minute)`: a job is due when it is filed, at or after the occurrence's `time`. */
async function filedAt(time: string, tag: string): Promise<JobView[]> {
  const to = new Date(Date.parse(time) + 60_000).toISOString();
  const path = `/jobs?topic=reminders&from=${time}&to=${to}`;
  const { body } = await api.call<{ jobs: JobView[] }>("GET", path);
  return body.jobs.filter((job) => job.tag === tag);
}
