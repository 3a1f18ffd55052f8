import { describe, expect, test } from "vitest";
import { parseOccurrence } from "../../../src/core/occurrence.ts";
import { fileOccurrence, putSchedule } from "../../../src/protocol/file/recurring.ts";
import type { EnqueueRule } from "../../../src/settings/event-rules.ts";
import { createApi, type Json } from "../../support/api.ts";
import { busEvent, deliver } from "../../support/bus.ts";
import { consume } from "../../support/consume.ts";
import { type Call, fail, key, meanwhile } from "../../support/scenes.ts";
import { createWorld, HOUR, MINUTE, SECOND, START, type World } from "../../support/world.ts";

const LATE = 2 * HOUR;
const ASKED = START;
const dueAt = new Date(ASKED).toISOString();
/** Two topics that bound lateness, by `ifLate` and by nothing. It is two hours after `ASKED`. */
async function late(more: object = {}) {
  const topics = { orders: {}, picky: { ifLate: { after: 60, do: "skip" } as const }, ...more };
  const api = createApi(createWorld({ topics }));
  await api.world.pass(LATE);
  return api;
}
type Late = Awaited<ReturnType<typeof late>>;
type Way = (api: Late, topic: string, options: Json) => Promise<string>;

const body = { n: 1 };
const placed = (topic: string, onDuplicate: "keep" | "replace" = "keep"): EnqueueRule => ({
  ...{ topic, do: "enqueue", detailType: "OrderPlaced", key: "$.detail.orderId", delay: 0, body: "$.detail" },
  onDuplicate,
});
const postOne: Way = async ({ call }, topic, options) => {
  return (await call("POST", "/jobs", { body: { topic, body, dueAt, ...options } })).json.id as string;
};
const waiting = async ({ call }: Late, topic: string, options: Json = {}): Promise<string> => {
  const job = { topic, body, delay: "1h", ...options };
  return (await call("POST", "/jobs", { body: job })).json.id as string;
};
const comesRound = async (world: World, topic: string, options: Json): Promise<string> => {
  const { expiresAfter: seconds } = options;
  const expiresAfter = seconds === undefined ? {} : { expiresAfter: Number(seconds) * SECOND };
  const job = { topic, body: "{}", ...expiresAfter };
  await putSchedule(world.ctx, { name: "hourly", expression: "cron(0 * * * ? *)", timezone: "UTC", job });
  const occurrence = parseOccurrence(world.schedules.inputOf("hourly", ASKED));
  return (await fileOccurrence(world.ctx, occurrence)).home.id;
};

/** Each way to ask late for a job that is due at `ASKED`. */
const WAYS: Record<string, Way> = {
  "a call": postOne,
  "a call with a key": (api, topic, options) => postOne(api, topic, { key, ...options }),
  "a call with an Idempotency-Key": async ({ call }, topic, options) => {
    const job = { topic, body, dueAt, ...options };
    const sent = { body: job, headers: { "idempotency-key": "k" } };
    await call("POST", "/jobs", sent);
    return (await call("POST", "/jobs", sent)).json.id as string;
  },
  "a batch": async ({ call }, topic, options) => {
    const { json } = await call("POST", "/jobs/batch", {
      body: { jobs: [{ topic, body, dueAt, ...options }] },
    });
    return (json.results as { job: { id: string } }[])[0]?.job.id as string;
  },
  "a replacement by key": async (api, topic, options) => {
    await waiting(api, topic, { key });
    const sent = { body: { body, dueAt, ...options } };
    return (await api.call("PUT", `/topics/${topic}/jobs/${key}`, sent)).json.id as string;
  },
  "a reschedule": async (api, topic, options) => {
    const id = await waiting(api, topic, options);
    await api.call("PATCH", `/jobs/${id}`, { body: { dueAt } });
    return id;
  },
  "a bulk": async (api, topic, options) => {
    const id = await waiting(api, topic, options);
    const moved = await api.call("POST", "/jobs/bulk", { body: { action: "move", topic, dueAt } });
    expect(moved.json).toMatchObject({ changed: 1 });
    return id;
  },
  "an occurrence": ({ world }, topic, options) => comesRound(world, topic, options),
};

describe.each(Object.entries(WAYS))("%s that asks for a time in the past", (_, ask) => {
  test("files a job that is due now, and runs at once", async () => {
    const api = await late();
    const id = await ask(api, "orders", {});
    const { world } = api;
    expect(await world.home(id)).toMatchObject({ dueAt: world.now(), wantedAt: ASKED });
    await world.pass(SECOND);
    expect(await consume(world, "orders")).toMatchObject([{ id }]);
    expect(world.events).toContainEqual(expect.objectContaining({ type: "started", id, lateMs: SECOND }));
  });

  test("files a job that has expired, if expiresAfter is over since that time", async () => {
    const api = await late();
    const id = await ask(api, "orders", { expiresAfter: LATE / SECOND - 1 });
    expect(await consume(api.world, "orders")).toEqual([]);
    expect(await api.world.home(id)).toMatchObject({
      state: "expired",
      lastError: "it was to start by 2026-03-01T10:59:59.000Z",
    });
  });

  test("files a job that runs, if expiresAfter is not over since that time", async () => {
    const api = await late();
    const id = await ask(api, "orders", { expiresAfter: LATE / SECOND + 10 });
    expect(await consume(api.world, "orders")).toMatchObject([{ id }]);
  });

  test("files a job that is skipped, if its topic's ifLate allows less", async () => {
    const api = await late();
    const id = await ask(api, "picky", {});
    expect(await consume(api.world, "picky")).toEqual([]);
    expect(await api.world.home(id)).toMatchObject({
      state: "cancelled",
      lastError: "it would have started 7200 s late, and its topic allows 60 s",
    });
  });
});

test.each(["keep", "replace"] as const)(
  "an event that comes late files a stale job: %s",
  async (onDuplicate) => {
    const { world, call } = await late();
    if (onDuplicate === "replace")
      await call("POST", "/jobs", { body: { topic: "picky", key, body, delay: "1h" } });
    const told = busEvent(ASKED, { "detail-type": "OrderPlaced", detail: { orderId: key } });
    // The later caller's job stays as it is, because the event happened before.
    await deliver(world, [placed("picky", onDuplicate)], [told]);
    expect(await consume(world, "picky")).toEqual([]);
    const { json } = await call("GET", `/topics/picky/jobs/${key}`);
    expect(json).toMatchObject({ state: onDuplicate === "keep" ? "cancelled" : "scheduled" });
  },
);

test("a retry is late since its own time only, though its job was asked for late", async () => {
  const { world, call } = await late({ picky: { ifLate: { after: 60, do: "skip" }, maxAttempts: 5 } });
  const recent = new Date(world.now() - 50 * SECOND).toISOString();
  const { json } = await call("POST", "/jobs", { body: { topic: "picky", body, dueAt: recent } });
  expect(await consume(world, "picky", { run: fail })).toHaveLength(1);
  await world.pass(MINUTE);
  expect(await consume(world, "picky")).toMatchObject([{ id: json.id, attempt: 2 }]);
});

test("so is a retry that an earlier version wrote, which leaves `askedLate` in the home", async () => {
  const { world, call } = await late({
    picky: { ifLate: { after: 60, do: "skip" }, maxAttempts: 5, backoff: { waits: [600] } },
  });
  const recent = new Date(world.now() - SECOND).toISOString();
  const { json } = await call("POST", "/jobs", { body: { topic: "picky", body, dueAt: recent } });
  const { change } = world.pool;
  world.pool.change = ({ remove = [], ...same }, by) =>
    change.call(world.pool, { ...same, remove: remove.filter((name) => name !== "askedLate") }, by);
  expect(await consume(world, "picky", { run: fail })).toHaveLength(1);
  world.pool.change = change;
  expect(await world.home(json.id as string)).toMatchObject({ attempt: 1, askedLate: true });
  await world.pass(11 * MINUTE);
  expect(await consume(world, "picky")).toMatchObject([{ id: json.id, attempt: 2 }]);
});

test("a new body keeps the requested time, and a new time replaces it", async () => {
  const { world, call } = await late({
    picky: { ifLate: { after: 60, do: "skip" }, window: "12:00-10:00 UTC" },
  });
  const { json } = await call("POST", "/jobs", { body: { topic: "picky", body, dueAt } });
  const path = `/jobs/${json.id}`;
  await call("PATCH", path, { body: { body: 2 } });
  expect(await world.home(json.id as string)).toMatchObject({ wantedAt: ASKED, askedLate: true });
  await call("PATCH", path, { body: { delay: 0 } });
  const home = await world.home(json.id as string);
  expect(home).toMatchObject({ wantedAt: world.now() });
  expect(home).not.toHaveProperty("askedLate");
});

test("a new body during a pause does not make the wait count as lateness", async () => {
  const { world, call } = await late();
  await call("POST", "/topics/picky/pause", { body: {} });
  const recent = new Date(world.now() - SECOND).toISOString();
  const { json } = await call("POST", "/jobs", { body: { topic: "picky", body, dueAt: recent } });
  await world.pass(HOUR);
  await call("PATCH", `/jobs/${json.id}`, { body: { body: 2 } });
  await call("POST", "/topics/picky/resume", { body: {} });
  await world.pass(10 * SECOND);
  expect(await consume(world, "picky")).toMatchObject([{ id: json.id }]);
});

test("a wait for a window does not count as lateness, but the time before the filing does", async () => {
  const window = "12:00-10:00 UTC";
  const { world, call } = await late({ picky: { ifLate: { after: 3600, do: "skip" }, window } });
  const file = async (minutes: number) => {
    const recent = new Date(world.now() - minutes * MINUTE).toISOString();
    return (await call("POST", "/jobs", { body: { topic: "picky", body, dueAt: recent } })).json.id as string;
  };
  const [fresh, stale] = [await file(59), await file(61)];
  await world.pass(HOUR);
  expect(await consume(world, "picky")).toMatchObject([{ id: fresh }]);
  expect(await world.home(stale)).toMatchObject({ state: "cancelled" });
});

describe("a redrive that moves its job two minutes after the call", () => {
  async function redriveSlowly(delay: number) {
    const { world, call } = await late();
    const { json } = await call("POST", "/jobs", {
      body: { topic: "picky", body, delay: 0, maxAttempts: 1 },
    });
    await consume(world, "picky", { run: fail });
    const id = json.id as string;
    const asked = world.now();
    let reads = 0;
    // The second read of the job comes after the redrive has decided when the job is due.
    const isSecond = ({ keys }: Call): boolean => keys.some(({ sk }) => sk.endsWith(id)) && ++reads === 2;
    meanwhile(world, isSecond, () => world.pass(2 * MINUTE));
    const redriven = await call("POST", "/topics/picky/redrive", { body: { ids: [id], delay } });
    expect(redriven.json).toMatchObject({ redriven: 1 });
    return { world, id, asked };
  }

  test("keeps the time for which its delay has asked", async () => {
    const { world, id, asked } = await redriveSlowly(10);
    const wantedAt = asked + 10 * SECOND;
    expect(await world.home(id)).toMatchObject({ dueAt: world.now(), wantedAt, askedLate: true });
    expect(await consume(world, "picky")).toEqual([]);
    expect(await world.home(id)).toMatchObject({ state: "cancelled" });
  });

  test("runs its job at once without a delay, because nobody has asked for a time", async () => {
    const { world, id } = await redriveSlowly(0);
    expect(await world.home(id)).not.toHaveProperty("askedLate");
    expect(await consume(world, "picky")).toMatchObject([{ id }]);
  });
});

test("a redrive whose time passes while it reads the job's key is late since that time", async () => {
  const { world, call } = await late();
  const { json } = await call("POST", "/jobs", {
    body: { topic: "picky", body, delay: 0, maxAttempts: 1, key: "k" },
  });
  await consume(world, "picky", { run: fail });
  const id = json.id as string;
  const wantedAt = world.now() + 10 * SECOND;
  meanwhile(
    world,
    ({ keys }) => keys.some(({ pk }) => pk === "key#picky#k"),
    () => world.pass(2 * MINUTE),
  );
  await call("POST", "/topics/picky/redrive", { body: { ids: [id], delay: 10 } });
  expect(await world.home(id)).toMatchObject({ dueAt: world.now(), wantedAt, askedLate: true });
});

test("a job without a time in the past is stored as before", async () => {
  const { world, call } = await late();
  for (const time of [{ delay: 0 }, { delay: 1 }, { dueAt: new Date(world.now()).toISOString() }]) {
    const { json } = await call("POST", "/jobs", { body: { topic: "orders", body, ...time } });
    expect(await world.home(json.id as string)).not.toHaveProperty("askedLate");
  }
});

test("a repeat of a call whose jobs were never stored keeps the requested time", async () => {
  const { world, call } = await late();
  const sent = {
    body: { jobs: [{ topic: "picky", body, dueAt }] },
    headers: { "idempotency-key": "k" },
  };
  const insert = world.pool.insert;
  let calls = 0;
  world.pool.insert = async (items, by) => {
    if (++calls === 2) throw new Error("crash");
    return insert(items, by);
  };
  await call("POST", "/jobs/batch", sent);
  world.pool.insert = insert;
  await world.pass(MINUTE);
  const { json } = await call("POST", "/jobs/batch", sent);
  const [{ job }] = json.results as [{ job: { id: string } }];
  expect(await world.home(job.id)).toMatchObject({ wantedAt: ASKED, askedLate: true });
  expect(await consume(world, "picky")).toEqual([]);
});
