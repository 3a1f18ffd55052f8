import { describe, expect, test } from "vitest";
import type { ExportPart } from "../../src/http/answers/many-jobs.ts";
import { type Api, createApi } from "../support/api.ts";
import { HOUR, SECOND } from "../support/world.ts";

const path = "/jobs/export";
const DAY = 24 * HOUR;

/** The parts of an export. */
async function parts(api: Api, query: Record<string, string> = {}): Promise<ExportPart[]> {
  const found: ExportPart[] = [];
  let cursor: Record<string, string> = {};
  for (;;) {
    const { status, json } = await api.call("GET", `${path}?${new URLSearchParams({ ...query, ...cursor })}`);
    expect(status).toBe(200);
    found.push(json as ExportPart);
    if (json.cursor === undefined) return found;
    cursor = { cursor: String(json.cursor) };
  }
}

const idsOf = (found: readonly ExportPart[]): string[] =>
  found.flatMap(({ jobs }) => jobs.map(({ id }) => id));

describe("an export", () => {
  test("answers jobs of any state and time with their bodies and timelines", async () => {
    const api = createApi();
    const far = await api.world.file({ delay: 3000 * DAY, body: '{"text":"far"}' });
    const dead = await api.bury();
    const [part, ...more] = await parts(api);
    expect(more).toEqual([]);
    expect(part).toMatchObject({ examined: 2, errors: [] });
    expect(part?.jobs).toHaveLength(2);
    for (const id of [far.id, dead]) {
      const { json } = await api.call("GET", `/jobs/${id}`);
      expect(json).toMatchObject(part?.jobs.find((job) => job.id === id) ?? {});
    }
  });

  test("answers the jobs of a topic, a state and a range", async () => {
    const api = createApi();
    const [first, second] = [
      await api.world.file({ delay: HOUR }),
      await api.world.file({ delay: 2 * HOUR }),
    ];
    const other = await api.world.file({ topic: "work", delay: HOUR });
    await api.call("DELETE", `/jobs/${second.id}`);
    const at = (ms: number): string => new Date(api.world.now() + ms).toISOString();
    expect(idsOf(await parts(api, { topic: "work" }))).toEqual([other.id]);
    expect(idsOf(await parts(api, { state: "cancelled" }))).toEqual([second.id]);
    expect(idsOf(await parts(api, { from: at(2 * HOUR) }))).toEqual([second.id]);
    expect(idsOf(await parts(api, { to: at(2 * HOUR) })).sort()).toEqual([first.id, other.id].sort());
  });

  test("answers each job once, part by part, with at most `limit` jobs in each", async () => {
    const api = createApi();
    const filed: string[] = [];
    for (let i = 0; i < 25; i++) filed.push((await api.world.file({ delay: HOUR + i * SECOND })).id);
    const found = await parts(api, { limit: "10" });
    expect(Math.max(...found.map(({ jobs }) => jobs.length))).toBeLessThanOrEqual(10);
    expect(idsOf(found).sort()).toEqual(filed.sort());
    expect(found.reduce((sum, { examined }) => sum + examined, 0)).toBe(25);
  });

  test("ends a part before its answer would be too long", async () => {
    const api = createApi();
    const body = JSON.stringify('"'.repeat(60_000));
    for (let i = 0; i < 30; i++) await api.world.file({ delay: HOUR, body });
    const found = await parts(api, { limit: "500" });
    expect(found.length).toBeGreaterThan(1);
    expect(new Set(idsOf(found)).size).toBe(30);
    for (const part of found)
      expect(JSON.stringify(JSON.stringify(part)).length).toBeLessThan(6 * 1024 * 1024);
  });

  test("goes past parts of the table without such jobs, for some seconds", async () => {
    const api = createApi();
    for (let i = 0; i < 30; i++) await api.world.file({ delay: HOUR + i * SECOND });
    const [part, ...more] = await parts(api, { topic: "work", limit: "1" });
    expect({ part, more }).toEqual({ part: { jobs: [], errors: [], examined: 30 }, more: [] });
  });

  test("names the jobs that cannot be read", async () => {
    const api = createApi();
    const home = await api.world.file({ delay: HOUR });
    api.world.pool.put({ ...home, v: 2 });
    const [part] = await parts(api, { topic: "work" });
    expect(part).toMatchObject({
      jobs: [],
      errors: [{ id: home.id, problem: { code: "unavailable", detail: expect.stringContaining(home.id) } }],
    });
  });

  test("has cursors that belong to the same request only", async () => {
    const api = createApi();
    for (let i = 0; i < 3; i++) await api.file();
    const { cursor } = (await api.call("GET", `${path}?limit=1`)).json;
    expect((await api.call("GET", `${path}?limit=2&cursor=${cursor}`)).status).toBe(200);
    for (const query of [`topic=work&cursor=${cursor}`, `state=dead&cursor=${cursor}`, "cursor=x"])
      expect((await api.call("GET", `${path}?${query}`)).status).toBe(400);
  });

  test.each([
    ["topic=nobody", 404, "nobody"],
    ["limit=501", 400, "limit"],
    ["state=nope", 400, "state"],
    ["from=2026", 400, "from"],
    ["tag=a", 400, "tag"],
  ])("refuses %s", async (query, status, detail) => {
    const refused = await createApi().call("GET", `${path}?${query}`);
    expect(refused).toMatchObject({ status, json: { detail: expect.stringContaining(detail) } });
  });
});
