import { describe, expect, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { clientOver } from "../../src/client/client-over.ts";
import { httpTransport } from "../../src/client/http-transport.ts";
import type { Home } from "../../src/core/home.ts";
import type { Pause } from "../../src/core/items.ts";
import { HANG_MS } from "../patience.ts";
import { type Api, createApi } from "../support/api.ts";
import { serveInTrouble, type Trouble } from "../support/troubled-api.ts";

/** What a call needs: jobs that wait, one with a key, dead ones, one that is held by a receipt, and a schedule. */
type Scene = { ids: string[]; dead: string[]; receipt: string };

async function prepare(api: Api): Promise<Scene> {
  const ids: string[] = [];
  for (const more of [{}, {}, { key: "17" }])
    ids.push(String((await api.file({ topic: "orders", ...more })).id));
  const dead = [await api.bury(), await api.bury(), await api.bury()];
  await api.file({ topic: "work", delay: 0 });
  const { receipt } = await api.receive();
  const body = { expression: "rate(1 hour)", topic: "orders", body: 1 };
  await api.call("PUT", "/schedules/hourly", { body });
  return { ids, dead, receipt };
}

const schedule = { expression: "rate(2 hours)", topic: "orders", body: 2 };
const range = { from: "2026-03-01T09:00:00Z", to: "2026-03-01T12:00:00Z" };
const [first, second] = [{ n: 1 }, { n: 2 }];

const CALLS: Record<string, (client: Client, scene: Scene) => Promise<unknown>> = {
  enqueue: (client) => client.enqueue("orders", 1, { delay: "1h" }),
  "enqueue with a key": (client) => client.enqueue("orders", 1, { delay: "1h", key: "new" }),
  "enqueue that replaces": (client) =>
    client.enqueue("orders", 1, { delay: "2h", key: "17", onDuplicate: "replace" }),
  "enqueue that postpones": (client) =>
    client.enqueue("orders", 1, { delay: "2h", key: "17", onDuplicate: "postpone", maxDelay: "3h" }),
  "enqueue that keeps": (client) =>
    client.enqueue("orders", 1, { delay: "2h", key: "17", onDuplicate: "keep" }),
  enqueueMany: (client) =>
    client.enqueueMany([first, second].map((body) => ({ topic: "orders", body, delay: "1h" }))),
  put: (client) => client.put("orders", "17", { body: 1, delay: "2h" }),
  "put of a new job": (client) => client.put("orders", "new", { body: 1, delay: "2h" }),
  get: (client, { ids }) => client.get(ids[0] ?? ""),
  "get by key": (client) => client.get({ topic: "orders", key: "17" }),
  reschedule: (client, { ids }) => client.reschedule(ids[0] ?? "", { delay: "2h", body: 2 }),
  "reschedule by a shift": (client, { ids }) => client.reschedule(ids[0] ?? "", { shift: "1h" }),
  "reschedule by key": (client) =>
    client.reschedule({ topic: "orders", key: "17" }, { delay: "2h", body: 2 }),
  cancelIfWaiting: (client, { ids }) => client.cancelIfWaiting(ids[0] ?? ""),
  cancel: (client, { ids }) => client.cancel(ids[0] ?? ""),
  "cancel by key": (client) => client.cancel({ topic: "orders", key: "17" }),
  cancelMany: (client, { ids }) => client.cancelMany(ids),
  list: (client) => all(client.list({ topic: "orders" })),
  forecast: (client) => all(client.forecast()),
  counts: (client) => all(client.counts({ step: 60 })),
  "bulk that cancels": (client) => client.bulk({ action: "cancel", topic: "orders", ...range }),
  "bulk that moves": (client) => client.bulk({ action: "move", topic: "orders", ...range, delay: "2h" }),
  "bulk that runs": (client) => client.bulk({ action: "run", topic: "orders", ...range, ratePerSecond: 1 }),
  "dry bulk": (client) => client.bulk({ action: "cancel", topic: "orders", ...range, dryRun: true }),
  topics: (client) => client.topics(),
  topic: (client) => client.topic("orders"),
  pause: (client) => client.pause("orders"),
  dead: (client) => all(client.dead("work")),
  "redrive of ids": (client, { dead }) => client.redrive("work", { ids: dead.slice(1), delay: "1h" }),
  "redrive of the oldest": (client) => client.redrive("work", { max: 2, delay: "1h" }),
  dismiss: (client, { dead }) => client.dismiss("work", { ids: dead.slice(1) }),
  schedules: (client) => all(client.schedules()),
  schedule: (client) => client.schedule("hourly"),
  putSchedule: (client) => client.putSchedule("hourly", schedule),
  "putSchedule of a new one": (client) => client.putSchedule("new", schedule),
  pauseSchedule: (client) => client.pauseSchedule("hourly"),
  resumeSchedule: (client) => client.resumeSchedule("hourly"),
  runSchedule: (client) => client.runSchedule("hourly"),
  finish: (client, { receipt }) => client.finish("work", receipt),
  extend: (client, { receipt }) => client.extend("work", receipt, 60),
  retry: (client, { receipt }) => client.retry("work", receipt, { delay: "5m", error: "busy" }),
  bury: (client, { receipt }) => client.bury("work", receipt, { error: "broken" }),
  health: (client) => client.health(),
};

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Makes a call while `troubles` happen. Answers the call's result (`answer`), and the items that exist afterwards (`left`). */
async function troubled(
  name: string,
  troubles: (api: Api, scene: Scene) => readonly (Trouble | undefined)[],
  retries = 1,
): Promise<{ answer: unknown; left: unknown }> {
  const api = createApi();
  const scene = await prepare(api);
  await using served = await serveInTrouble(troubles(api, scene), api);
  const authorize = async ({ headers }: { headers: Headers }) => headers;
  const transport = httpTransport({ authorize, timeout: HANG_MS, retries, firstWait: 1, random: () => 0 });
  let keys = 0;
  const client = clientOver({
    transport,
    url: served.url,
    newKey: () => `key-${++keys}`,
  });
  const answer = await CALLS[name]?.(client, scene);
  return { answer: withoutOutcome(answer), left: leftOf(api) };
}

/** Leaves out `outcome`, because a repeated call answers `replayed`. */
function withoutOutcome(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) => (key === "outcome" ? undefined : value));
}

function leftOf({ world }: Api): unknown {
  const homes = world.pool.items().filter((item): item is Home => "dueAt" in item);
  const paused = world.pool.items().filter((item): item is Pause => item.pk.startsWith("pause#"));
  // A repeated pause sets `changedAt` again.
  const pauses = paused.map(({ changedAt: _, ...pause }) => pause);
  const schedules = ["hourly", "new"].map((name) => world.schedules.read(name));
  return Promise.all(schedules).then((found) => ({ homes, pauses, found }));
}

describe("a call whose answer is lost", () => {
  test.each(Object.keys(CALLS))(
    "%s: has one effect, and answers as if nothing had been lost",
    async (name) => {
      const calm = await troubled(name, () => []);
      const lost = await troubled(name, () => ["cut after"]);
      expect(lost.answer).toEqual(calm.answer);
      expect(await lost.left).toEqual(await calm.left);
    },
  );

  const change = (api: Api, id: string) =>
    api.call("PATCH", `/jobs/${id}`, { body: { delay: "20m", body: "other" } });
  const LATER: Record<string, (api: Api, scene: Scene) => Promise<unknown>> = {
    "enqueue that replaces": (api, { ids }) => change(api, ids[2] ?? ""),
    "enqueue that postpones": (api, { ids }) => change(api, ids[2] ?? ""),
    put: (api, { ids }) => change(api, ids[2] ?? ""),
    reschedule: (api, { ids }) => change(api, ids[0] ?? ""),
    "redrive of ids": (api, { dead }) => change(api, dead[1] ?? ""),
    "redrive of the oldest": (api, { dead }) => change(api, dead[0] ?? ""),
    "bulk that moves": (api, { ids }) => change(api, ids[0] ?? ""),
    "bulk that runs": (api, { ids }) => change(api, ids[0] ?? ""),
  };
  test.each(Object.keys(LATER))(
    "%s: the repeat does not undo what another caller has changed in the meantime",
    async (name) => {
      const later = LATER[name];
      const api = createApi();
      const scene = await prepare(api);
      let homes: unknown;
      const between = async () => {
        await later?.(api, scene);
        homes = ((await leftOf(api)) as { homes: unknown }).homes;
      };
      await using served = await serveInTrouble(["cut after", between], api);
      const authorize = async ({ headers }: { headers: Headers }) => headers;
      const transport = httpTransport({
        authorize,
        timeout: HANG_MS,
        retries: 1,
        firstWait: 1,
        random: () => 0,
      });
      await CALLS[name]?.(clientOver({ transport, url: served.url, newKey: () => "key" }), scene);
      expect(homes).toBeDefined();
      expect(await leftOf(api)).toMatchObject({ homes });
    },
  );
});
