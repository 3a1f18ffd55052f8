import { expect, test } from "vitest";
import { createApi } from "../support/api.ts";
import { consume } from "../support/consume.ts";
import { fail } from "../support/scenes.ts";
import { createWorld, MINUTE, SECOND } from "../support/world.ts";

const window = "10:00-09:00 UTC";
const ifLate = { after: 60, do: "skip" } as const;

test("the answer for a topic has its window and ifLate", async () => {
  const { call } = createApi(createWorld({ topics: { calls: { window, ifLate, spread: 5 } } }));
  expect((await call("GET", "/topics/calls")).json).toMatchObject({ policy: { window, ifLate } });
});

test("a job that waits for its topic's window has heldUntil, also after a PATCH to run now", async () => {
  const { call, file } = createApi(createWorld({ topics: { calls: { window } } }));
  const { id } = await file({ topic: "calls", delay: 0 });
  const heldUntil = "2026-03-01T10:00:00.000Z";
  const dueAt = "2026-03-01T09:00:00.000Z";
  expect((await call("GET", `/jobs/${id}`)).json).toMatchObject({ dueAt, heldUntil });
  await call("PATCH", `/jobs/${id}`, { body: { delay: 0 } });
  expect((await call("GET", `/jobs/${id}`)).json).toMatchObject({ state: "scheduled", dueAt, heldUntil });
});

test("a job's timeline has each event with the values of that time", async () => {
  const { call, file, world } = createApi(createWorld({ topics: { calls: { ifLate } } }));
  const { id } = await file({ topic: "calls", delay: 10 });
  await world.pass(10.25 * SECOND);
  await consume(world, "calls", { run: fail });
  await world.pass(2 * MINUTE, { ticks: false });
  await consume(world, "calls");
  const error = "it would have started 105 s late, and its topic allows 60 s";
  const { json } = await call("GET", `/jobs/${id}`);
  expect(json).toMatchObject({ state: "cancelled", lastError: error });
  expect(json.timeline).toEqual([
    { at: "2026-03-01T09:00:00.000Z", event: "filed", dueAt: "2026-03-01T09:00:10.000Z" },
    { at: "2026-03-01T09:00:00.000Z", event: "sent", attempt: 1 },
    { at: "2026-03-01T09:00:10.250Z", event: "claimed", attempt: 1, lateness: 0.25 },
    { at: "2026-03-01T09:00:10.250Z", event: "failed", attempt: 1, error: "no" },
    { at: "2026-03-01T09:00:10.250Z", event: "retried", dueAt: "2026-03-01T09:00:25.250Z" },
    { at: "2026-03-01T09:00:10.250Z", event: "sent", attempt: 2 },
    { at: "2026-03-01T09:02:10.250Z", event: "cancelled", by: { kind: "topic" }, error },
  ]);
  const { json: listed } = await call("GET", "/jobs?topic=calls&from=2026-03-01T00:00:00Z");
  expect(JSON.stringify(listed)).not.toContain("timeline");
});

test("a job that waits for its next attempt is retrying, in each answer and in the counts, until it is due, moved or held", async () => {
  const { call, file, world } = createApi(createWorld({ topics: { calls: {} } }));
  const { id } = await file({ topic: "calls", delay: 0 });
  await world.pass(SECOND);
  await consume(world, "calls", { run: fail });
  const range = "from=2026-03-01T08:00:00Z&to=2026-03-01T10:00:00Z";
  const answered = async () => {
    const { json: job } = await call("GET", `/jobs/${id}`);
    const listed = (await call("GET", `/jobs?topic=calls&${range}`)).json.jobs as { retrying?: boolean }[];
    const { json: counted } = await call("GET", `/forecast?topic=calls&step=3600&${range}`);
    const [count] = counted.counts as { state: string }[];
    return [job.retrying, listed[0]?.retrying, count?.state];
  };
  expect(await answered()).toEqual([true, true, "retrying"]);
  // At its time it starts, unless a consumer is missing.
  const { dueAt } = (await call("GET", `/jobs/${id}`)).json;
  await world.pass(Date.parse(String(dueAt)) - world.now() + 1, { ticks: false });
  expect(await answered()).toEqual([undefined, undefined, "scheduled"]);
  await consume(world, "calls", { run: fail });
  expect(await answered()).toEqual([true, true, "retrying"]);
  // A caller's change begins anew.
  await call("PATCH", `/jobs/${id}`, { body: { delay: 1800 } });
  expect(await answered()).toEqual([undefined, undefined, "scheduled"]);
});
