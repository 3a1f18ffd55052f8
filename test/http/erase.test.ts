import { describe, expect, test } from "vitest";
import { type Api, createApi, type Json } from "../support/api.ts";
import { HOUR, SECOND } from "../support/world.ts";

const erase = (api: Api, body: Json) => api.call("POST", "/jobs/erase", { body });
const tag = "customer-42";

describe("an erase", () => {
  test("answers what it has erased, and what it has left and why", async () => {
    const api = createApi();
    const waiting = await api.file({ tag, key: "order-17" });
    await api.file({ tag: "customer-43" });
    const dead = await api.bury({ tag });
    const running = await api.world.file({ topic: "work", tag });
    await api.receive();
    expect((await erase(api, { tag, dryRun: true })).json).toMatchObject({ dryRun: true, changed: 0 });
    const { status, json } = await erase(api, { tag });
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        dryRun: false,
        examined: 4,
        matched: 3,
        changed: 2,
        skipped: { "job-running": 1 },
        errors: [{ id: running.id, problem: expect.objectContaining({ code: "job-running" }) }],
      },
    });
    for (const id of [waiting.id, dead]) expect((await api.call("GET", `/jobs/${id}`)).status).toBe(404);
    expect((await api.call("GET", "/topics/orders/jobs/order-17")).status).toBe(404);
    expect((await api.call("GET", "/topics/work/dead")).json.jobs).toEqual([]);
  });

  test("continues with its cursor, which belongs to the same request only", async () => {
    const api = createApi();
    for (let i = 0; i < 600; i++) await api.world.file({ tag, delay: HOUR + i * SECOND });
    const first = await erase(api, { tag });
    const { cursor } = first.json;
    expect(first.json).toMatchObject({ changed: 500, cursor: expect.any(String) });
    for (const other of [{ tag: "customer-43" }, { tag, topic: "orders" }, { tag, dryRun: true }])
      expect((await erase(api, { ...other, cursor })).status).toBe(400);
    const { json } = await erase(api, { tag, cursor });
    expect(json).toMatchObject({ matched: 100, changed: 100 });
    expect(json).not.toHaveProperty("cursor");
  });

  test.each([
    [{}, 400, "at least one of topic, tag, group and keyPrefix must be given"],
    [{ dryRun: true }, 400, "at least one of topic, tag, group and keyPrefix must be given"],
    [{ tag, from: "2026-03-01T09:00:00Z" }, 400, "from"],
    [{ topic: "nobody" }, 404, "nobody"],
    [{ keyPrefix: "" }, 400, "keyPrefix"],
    [{ tag, cursor: "x" }, 400, "cursor must be"],
  ])("refuses %j", async (body, status, detail) => {
    const refused = await erase(createApi(), body);
    expect(refused).toMatchObject({ status, json: { detail: expect.stringContaining(detail) } });
  });

  test("is logged with its caller", async () => {
    const api = createApi();
    await erase(api, { tag });
    expect(api.logged).toEqual([
      expect.stringContaining('a call changed a topic, a schedule or many jobs: {"call":"erase"'),
    ]);
  });
});
