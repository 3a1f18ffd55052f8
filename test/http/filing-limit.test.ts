import { expect, test } from "vitest";
import { directOn } from "../../src/client/direct-client.ts";
import { fileOccurrence } from "../../src/protocol/file/recurring.ts";
import { createApi } from "../support/api.ts";
import { meanwhile } from "../support/scenes.ts";
import { breakAll, createWorld, MINUTE, SECOND } from "../support/world.ts";

const MOST = 3;
const TOPICS = { orders: {}, mail: { maxFiledPerMinute: MOST }, pings: { maxFiledPerMinute: MOST } };

function createLimited() {
  const counts: string[] = [];
  const world = createWorld({ topics: { ...TOPICS, logs: { tracking: "none", maxFiledPerMinute: MOST } } });
  world.pool.hooks.before = ({ operation, keys }) => {
    if (operation === "count") counts.push(String(keys[0]?.pk));
  };
  return { ...createApi(world), counts };
}

const mail = { topic: "mail", body: 1, delay: "1h" };
const refused = {
  status: 429,
  json: {
    status: 429,
    code: "too-many-filed",
    topic: "mail",
    retryAfter: 60,
    detail: "topic mail takes at most 3 jobs a minute; repeat the call in 60 seconds",
  },
};
type Api = ReturnType<typeof createLimited>;
const post = ({ call }: Api, job: object = mail, key?: string) =>
  call("POST", "/jobs", { body: job, ...(key !== undefined && { headers: { "idempotency-key": key } }) });
const batch = ({ call }: Api, jobs: readonly object[], key?: string) =>
  call("POST", "/jobs/batch", {
    body: { jobs },
    ...(key !== undefined && { headers: { "idempotency-key": key } }),
  });
const statusesOf = ({ json }: Awaited<ReturnType<typeof batch>>) =>
  (json.results as { status: number }[]).map(({ status }) => status);

test("a topic takes as many jobs in a minute as it allows, and the others with the next minute", async () => {
  const api = createLimited();
  for (let i = 0; i < MOST; i++) expect(await post(api)).toMatchObject({ status: 201 });
  const answered = await post(api);
  expect(answered).toMatchObject(refused);
  expect(answered.headers.get("retry-after")).toBe("60");
  await api.world.pass(59.5 * SECOND, { ticks: false });
  const later = await post(api);
  expect(later).toMatchObject({ status: 429, json: { retryAfter: 1 } });
  expect(later.headers.get("retry-after")).toBe("1");
  await api.world.pass(0.5 * SECOND, { ticks: false });
  expect(await post(api)).toMatchObject({ status: 201 });
});

test("a full topic does not hold back others, and a process that knows of it makes no call for it", async () => {
  const api = createLimited();
  for (let i = 0; i < MOST + 2; i++) await post(api);
  expect(api.counts).toEqual(Array.from({ length: MOST }, () => "filed#mail#2026-03-01T09:00"));
  expect(await post(api, { ...mail, topic: "pings" })).toMatchObject({ status: 201 });
});

test("a topic without the setting has no counter", async () => {
  const api = createLimited();
  await post(api, { ...mail, topic: "orders" });
  await batch(api, [{ ...mail, topic: "orders" }]);
  expect(api.counts).toEqual([]);
});

test("every call that files counts: by key, a batch, and a run of a schedule; no refused job does", async () => {
  const api = createLimited();
  const put = { expression: "rate(1 hour)", topic: "mail", body: 1 };
  await api.call("PUT", "/schedules/hourly", { body: put });
  expect(await post(api, { ...mail, callbackUrl: "https://example.org" })).toMatchObject({ status: 400 });
  expect(await api.call("PUT", "/topics/mail/jobs/k", { body: { body: 1, delay: 60 } })).toMatchObject({
    status: 201,
  });
  expect(await api.call("POST", "/schedules/hourly/run")).toMatchObject({ status: 201 });
  expect(statusesOf(await batch(api, [mail]))).toEqual([201]);
  expect(await api.call("PUT", "/topics/mail/jobs/k", { body: { body: 2, delay: 60 } })).toMatchObject(
    refused,
  );
  const seen = { headers: { "if-match": "*" }, body: { body: 3, delay: 60 } };
  expect(await api.call("PUT", "/topics/mail/jobs/k", seen)).toMatchObject(refused);
  expect(await api.call("POST", "/schedules/hourly/run")).toMatchObject(refused);
});

test("of a batch, each topic takes the first jobs that it still may take", async () => {
  const api = createLimited();
  await post(api);
  const pings = { ...mail, topic: "pings" };
  const orders = { ...mail, topic: "orders" };
  const answered = await batch(api, [mail, pings, mail, { ...mail, more: 1 }, orders, mail, mail, pings]);
  expect(statusesOf(answered)).toEqual([201, 201, 201, 400, 201, 429, 429, 201]);
  expect(answered.json.results).toMatchObject({ 5: { error: refused.json } });
});

test("a repeat is answered as the first call, also if the topic is full, and does not count", async () => {
  const api = createLimited();
  const { json } = await post(api, mail, "a");
  expect(await post(api, mail, "a")).toMatchObject({
    status: 201,
    json: { id: json.id, outcome: "replayed" },
  });
  await post(api, mail, "b");
  await post(api, { ...mail, key: "k" }, "c");
  for (const key of ["a", "b"]) expect(await post(api, mail, key)).toMatchObject({ status: 201 });
  expect(await post(api, { ...mail, key: "k" }, "c")).toMatchObject({ json: { outcome: "replayed" } });
  expect(await post(api, mail, "d")).toMatchObject(refused);
});

test("a repeat that comes while its first call takes the last place is refused, and answered as the first call later", async () => {
  const api = createLimited();
  for (let i = 1; i < MOST; i++) await post(api);
  const statuses: number[] = [];
  meanwhile(
    api.world,
    // The first call has counted its job, and is about to file it.
    ({ operation, keys }) => operation !== "read" && keys.some(({ pk }) => pk.startsWith("once#")),
    async () => void statuses.push((await post(api, mail, "a")).status),
  );
  const first = await post(api, mail, "a");
  expect({ first: first.status, meanwhile: statuses }).toEqual({ first: 201, meanwhile: [429] });
  const { id } = first.json;
  expect(await post(api, mail, "a")).toMatchObject({ status: 201, json: { id, outcome: "replayed" } });
  await api.world.pass(MINUTE, { ticks: false });
  expect(await post(api, mail, "a")).toMatchObject({ status: 201, json: { id, outcome: "replayed" } });
});

test("a repeated batch files what the topic had refused, so a batch of any size ends", async () => {
  const api = createLimited();
  const jobs = Array.from({ length: 7 }, (_, i) => ({ ...mail, ...(i === 1 && { key: "k" }) }));
  const calls = [];
  for (let i = 0; i < 4; i++) {
    calls.push(statusesOf(await batch(api, jobs, "b")));
    await api.world.pass(MINUTE, { ticks: false });
  }
  expect(calls).toEqual([
    [201, 201, 201, 429, 429, 429, 429],
    [201, 201, 201, 201, 201, 201, 429],
    [201, 201, 201, 201, 201, 201, 201],
    [201, 201, 201, 201, 201, 201, 201],
  ]);
  const listed = await api.call("GET", "/jobs?from=2026-03-01T09:30:00Z&to=2026-03-01T11:00:00Z");
  expect(listed.json.jobs).toHaveLength(7);
});

test("an untracked topic counts each call, because it cannot know repeats", async () => {
  const api = createLimited();
  for (let i = 0; i < MOST; i++)
    expect(await post(api, { ...mail, topic: "logs" }, "a")).toMatchObject({ status: 201 });
  expect(await post(api, { ...mail, topic: "logs" }, "a")).toMatchObject({ status: 429 });
});

test("the direct client counts too, and jobs of schedules do not", async () => {
  const { world } = createLimited();
  const client = directOn(world.ctx, console);
  const file = () => client.enqueue("mail", 1, { delay: "1h" });
  for (let i = 0; i < MOST; i++) await file();
  await expect(file()).rejects.toMatchObject({
    code: "too-many-filed",
    status: 429,
    data: { retryAfter: 60 },
  });
  const job = { topic: "mail", body: "1" };
  expect(await fileOccurrence(world.ctx, { name: "hourly", time: world.now(), job })).toMatchObject({
    outcome: "created",
  });
});

test("many processes at once take no more together", async () => {
  const { world } = createLimited();
  // The port is another one in each process.
  const apis = Array.from({ length: 10 }, () =>
    createApi({ ...world, ctx: { ...world.ctx, pool: { ...world.pool } } }),
  );
  const answers = await Promise.all(apis.map(({ call }) => call("POST", "/jobs", { body: mail })));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(MOST);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(10 - MOST);
});

test("if the counter does not answer, the job is not filed, and jobs of other topics are", async () => {
  const api = createLimited();
  const mend = breakAll(api.world, "before", ({ operation }) => operation === "count");
  expect(await post(api)).toMatchObject({ status: 503, json: { code: "unavailable" } });
  expect(statusesOf(await batch(api, [mail, { ...mail, topic: "orders" }]))).toEqual([503, 201]);
  mend();
  expect(await post(api)).toMatchObject({ status: 201 });
});
