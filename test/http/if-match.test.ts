import { describe, expect, test } from "vitest";
import { cancel } from "../../src/protocol/change/cancel.ts";
import { reschedule } from "../../src/protocol/change/reschedule.ts";
import { type Api, createApi, type Json } from "../support/api.ts";
import { consume } from "../support/consume.ts";
import { dead, meanwhile } from "../support/scenes.ts";
import { createWorld, HOUR } from "../support/world.ts";

const KEYED = "/topics/orders/jobs/k";
const etag = (headers: Headers): string => headers.get("etag") ?? "none";
const seen = (tag: string, more: Record<string, string> = {}) => ({ "if-match": tag, ...more });

/** Each call that changes a job, with a job that another person changes before the call. */
const CHANGES: readonly (readonly [string, string, (id: string) => string, Json | undefined])[] = [
  ["reschedule", "PATCH", (id) => `/jobs/${id}`, { body: "mine" }],
  ["run now", "PATCH", (id) => `/jobs/${id}`, { delay: 0 }],
  ["cancel", "DELETE", (id) => `/jobs/${id}`, undefined],
  ["cancel by key", "DELETE", () => KEYED, undefined],
  ["replace by key", "PUT", () => KEYED, { body: "mine", delay: "1h" }],
];

const change = ({ call }: Api, id: string) => call("PATCH", `/jobs/${id}`, { body: { body: "theirs" } });

describe("a change with If-Match", () => {
  test.each(CHANGES)("%s: is made if the job is as the caller saw it", async (_, method, pathOf, body) => {
    const api = createApi();
    const id = String((await api.file({ key: "k" })).id);
    await change(api, id);
    const tag = etag((await api.call("GET", pathOf(id))).headers);
    const answer = await api.call(method, pathOf(id), { ...(body && { body }), headers: seen(tag) });
    expect(answer.status).toBe(200);
  });

  test.each(CHANGES)("%s: changes nothing if another changed the job", async (_, method, pathOf, body) => {
    const api = createApi();
    const id = String((await api.file({ key: "k" })).id);
    const tag = etag((await api.call("GET", pathOf(id))).headers);
    await change(api, id);
    const before = structuredClone(api.world.pool.items());
    const answer = await api.call(method, pathOf(id), { ...(body && { body }), headers: seen(tag) });
    expect(answer).toMatchObject({ status: 412, json: { code: "changed-meanwhile", id, revision: 1 } });
    expect(etag(answer.headers)).toBe(etag((await api.call("GET", pathOf(id))).headers));
    expect(api.world.pool.items()).toEqual(before);
  });

  test.each(CHANGES)(
    "%s: changes nothing if another changes the job between the check and the write",
    async (_, method, pathOf, body) => {
      const api = createApi();
      const id = String((await api.file({ key: "k" })).id);
      const tag = etag((await api.call("GET", pathOf(id))).headers);
      meanwhile(
        api.world,
        ({ operation, keys }) =>
          ["change", "changeMany", "transact"].includes(operation) &&
          keys.some(({ pk }) => !pk.startsWith("key#")),
        () => reschedule(api.world.ctx, id, { body: '"theirs"' }),
      );
      const answer = await api.call(method, pathOf(id), { ...(body && { body }), headers: seen(tag) });
      expect(answer).toMatchObject({ status: 412, json: { code: "changed-meanwhile", revision: 1 } });
      expect((await api.call("GET", `/jobs/${id}`)).json).toMatchObject({
        state: "scheduled",
        body: "theirs",
      });
    },
  );

  test("a redrive of one job is refused if the job was redriven and died again, also at the same moment", async () => {
    const world = createWorld();
    const api = createApi(world);
    const { id } = await dead(world);
    const redrive = (tag: string, ids = [id]) =>
      api.call("POST", "/topics/orders/redrive", { body: { ids }, headers: seen(tag) });
    expect(await redrive('"7"')).toMatchObject({ status: 412, json: { revision: 0 } });
    expect(await redrive('"0"', [id, id.replace(/.$/, "0")])).toMatchObject({ status: 400 });
    meanwhile(
      world,
      ({ operation }) => operation === "change",
      async () => {
        await world.pass(1000, { ticks: false });
        expect(await redrive('"0"')).toMatchObject({ json: { redriven: 1 } });
      },
    );
    expect(await redrive('"0"')).toMatchObject({ status: 412, json: { revision: 1 } });
  });

  test("a repeat with its Idempotency-Key is answered as the first", async () => {
    const api = createApi();
    const id = String((await api.file({ key: "k" })).id);
    const idempotent = { "idempotency-key": "mine" };
    const patch = () =>
      api.call("PATCH", `/jobs/${id}`, { body: { body: "mine" }, headers: seen('"0"', idempotent) });
    const put = () =>
      api.call("PUT", KEYED, {
        body: { body: 1, delay: 1e4 },
        headers: seen(`"${id}.1"`, { "idempotency-key": "put" }),
      });
    for (let i = 0; i < 2; i++) expect(await patch()).toMatchObject({ status: 200, json: { revision: 1 } });
    expect(await put()).toMatchObject({ status: 200, json: { revision: 2, outcome: "replaced" } });
    expect(await put()).toMatchObject({ status: 201, json: { revision: 2, outcome: "replayed" } });
    expect(await patch()).toMatchObject({ status: 200, json: { revision: 2 } });
    const cancelIt = () => api.call("DELETE", `/jobs/${id}`, { headers: seen('"2"') });
    for (let i = 0; i < 2; i++)
      expect(await cancelIt()).toMatchObject({ status: 200, json: { state: "cancelled" } });
  });

  test("a tag of a key does not match another job that has taken the key", async () => {
    const api = createApi();
    await api.file({ key: "k" });
    const tag = etag((await api.call("GET", KEYED)).headers);
    await api.call("DELETE", KEYED);
    await api.file({ key: "k" });
    for (const [method, body] of [["DELETE"], ["PUT", { body: 1, delay: 1 }]] as const)
      expect(await api.call(method, KEYED, { ...(body && { body }), headers: seen(tag) })).toMatchObject({
        status: 412,
      });
    const free = await api.call("PUT", "/topics/orders/jobs/free", {
      body: { body: 1, delay: 1 },
      headers: seen("*"),
    });
    expect(free).toMatchObject({ status: 412, json: { code: "changed-meanwhile" } });
  });

  test("a PUT files a new job if the key's job has ended as the caller saw it, and one of two such calls is refused", async () => {
    const api = createApi();
    const { id } = await api.file({ key: "k" });
    const tag = etag((await api.call("GET", KEYED)).headers);
    await api.world.pass(HOUR);
    await consume(api.world, "orders");
    const put = () => api.call("PUT", KEYED, { body: { body: 1, delay: 1 }, headers: seen(tag) });
    const answers = await Promise.all([put(), put()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 412]);
    expect(answers.find(({ status }) => status === 201)?.json.id).not.toBe(id);
  });

  test("other refusals come first, as RFC 9110 wants it", async () => {
    const api = createApi();
    const { id } = await api.file({ topic: "work", delay: 0, key: "k" });
    await api.receive();
    for (const path of [`/jobs/${id}`, "/topics/work/jobs/k"])
      expect(await api.call("DELETE", path, { headers: seen('"9"') })).toMatchObject({
        json: { code: "job-running" },
      });
    const put = { body: { body: 1, delay: 1 }, headers: seen('"9"') };
    expect(await api.call("PUT", "/topics/work/jobs/k", put)).toMatchObject({
      json: { code: "job-running" },
    });
    const nobody = "/jobs/01ARZ3NDEK00SV4RRFFQ69G5FA";
    expect(await api.call("DELETE", nobody, { headers: seen("*") })).toMatchObject({ status: 404 });
  });

  test.each([
    ["*", 200],
    ['"0"', 200],
    ['"9", "0"', 200],
    ['"9","7" , "0"', 200],
    ['"9",, "0" ,', 200],
    [', "0"', 200],
    ['W/"0"', 412],
    ['""', 412],
    ['"9"', 412],
    ['"abc"', 412],
    ['"00"', 412],
    ["0", 400],
    ['"0', 400],
    ['*, "0"', 400],
    ["*, *", 400],
    ["", 400],
    [",", 400],
  ])("%s is answered %i", async (tag, status) => {
    const api = createApi();
    const { id } = await api.file();
    const answer = await api.call("PATCH", `/jobs/${id}`, { body: { delay: "2h" }, headers: seen(tag) });
    expect(answer.status).toBe(status);
  });
});

test("a refused tag of an unchanged job is not called a change", async () => {
  const api = createApi();
  const { id } = await api.file();
  const cancelIt = async (tag: string) =>
    (await api.call("DELETE", `/jobs/${id}`, { headers: seen(tag) })).json.detail;
  for (const tag of ['W/"0"', '"9"', '""'])
    expect(await cancelIt(tag)).toBe(
      `job ${id} is not as If-Match says: it has revision 0 now. Read the job again, and send its ETag; a tag that begins with W/ names no revision`,
    );
  const RULE = 'if-match must be one * or entity tags in quotes, such as "3"';
  expect(await cancelIt("*, *")).toBe(`${RULE}, got *, *`);
  expect(await cancelIt("3")).toBe(`${RULE}, got 3`);
  expect(await cancelIt("")).toBe(`${RULE}, got ""`);
});

test("a cancel with the revision that a move has raised is made, and one write later another is refused", async () => {
  const world = createWorld();
  const { id } = await world.file({ delay: HOUR });
  await reschedule(world.ctx, id, { body: "1" });
  await expect(cancel(world.ctx, id, ["0"])).rejects.toMatchObject({ code: "changed-meanwhile" });
  expect(await cancel(world.ctx, id, [`${id}.1`])).toMatchObject({ state: "cancelled" });
});
