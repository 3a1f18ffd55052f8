import { expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { directOn } from "../../src/client/direct-client.ts";
import { type } from "./command-line.ts";
import { serveApi } from "./served-api.ts";

const by = { kind: "caller", reason: "paid by phone" };
const silent = { info: () => {}, warn: () => {}, error: () => {} };

test.each([
  ["cancel", [], "cancelled"],
  ["reschedule", ["--delay", "2h"], "moved"],
])("%s --reason stands in the job's timeline, and get shows it", async (command, more, event) => {
  await using api = await serveApi();
  const { id } = await api.file({ delay: "1h" });
  expect((await type(api, [command, String(id), ...more, "--reason", by.reason])).code).toBe(0);
  const { json } = await api.call("GET", `/jobs/${id}`);
  expect((json.timeline as object[]).at(-1)).toMatchObject({ event, by });
  expect((await type(api, ["get", String(id)])).out).toContain("a caller: paid by phone");
});

test("enqueue --reason stands in the timeline of the job that it replaces", async () => {
  await using api = await serveApi();
  const { id } = await api.file({ key: "k" });
  const replace = ["--key", "k", "--on-duplicate", "replace", "--body", "2", "--delay", "2h"];
  expect((await type(api, ["enqueue", "orders", ...replace, "--reason", by.reason])).code).toBe(0);
  const { json } = await api.call("GET", `/jobs/${id}`);
  expect((json.timeline as object[]).at(-1)).toMatchObject({ event: "moved", by });
});

test("pause --reason stands in the list of topics", async () => {
  await using api = await serveApi();
  await type(api, ["pause", "orders", "--reason", "the mail server is down"]);
  expect((await type(api, ["topics"])).out).toContain(
    "paused by a caller: the mail server is down, 0 parked",
  );
});

test("a reason that the API would refuse is refused before the call", async () => {
  await using api = await serveApi();
  const { code, err } = await type(api, ["pause", "orders", "--reason", "x".repeat(101)]);
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining("1 to 100 characters") });
});

test("both clients pass a reason on", async () => {
  await using api = await serveApi();
  const direct = directOn(api.world.ctx, silent);
  for (const client of [createClient({ url: api.url }), direct]) {
    const { id } = await client.enqueue("orders", 1, { delay: "1h" });
    await client.reschedule(id, { delay: "2h", reason: by.reason });
    const cancelled = await client.cancel(id, { reason: "no longer wanted" });
    const second = { kind: "caller", reason: "no longer wanted" };
    expect(cancelled.timeline.slice(1)).toMatchObject([
      { event: "moved", by },
      { event: "cancelled", by: second },
    ]);
    await expect(client.cancel(id, { reason: "" })).rejects.toMatchObject({ code: "bad-request" });
  }
});
