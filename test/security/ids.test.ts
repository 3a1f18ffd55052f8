import * as crypto from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { drawJobId, drawToken } from "../../src/core/job-id.ts";
import { decodeReceipt, encodeReceipt, type Receipt } from "../../src/core/receipt.ts";
import { createContext } from "../../src/environment/context.ts";
import { createApi, type Json } from "../support/api.ts";
import { createWorld, HOUR, START } from "../support/world.ts";

vi.mock("node:crypto", async (original) => {
  const actual = await original<typeof crypto>();
  return { ...actual, randomBytes: vi.fn(actual.randomBytes) };
});

const RANDOM_BITS = 70;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The 70 bits of an id that do not depend on the time or the shard. */
function tailOf(id: string): string {
  const chars = [...id.slice(12)];
  return chars.map((char) => ALPHABET.indexOf(char).toString(2).padStart(5, "0")).join("");
}

describe("an id", () => {
  test("has 70 bits, each of which follows another bit of the random bytes", () => {
    const tails = new Set<string>();
    for (let bit = 0; bit < RANDOM_BITS; bit++) {
      const drawn = (count: number) => {
        const bytes = new Uint8Array(count);
        bytes[2 + Math.floor(bit / 5)] = 2 ** (bit % 5);
        return bytes;
      };
      tails.add(tailOf(drawJobId(START, 1, drawn)));
    }
    expect(tails.size).toBe(RANDOM_BITS);
    for (const tail of tails) expect(tail.replaceAll("0", "")).toBe("1");
  });

  test("differs from the other ids of its ms and shard: each bit is set in half of the ids", () => {
    const count = 10_000;
    const tails = Array.from({ length: count }, () => tailOf(drawJobId(START, 1, crypto.randomBytes)));
    expect(new Set(tails).size).toBe(count);
    for (let bit = 0; bit < RANDOM_BITS; bit++) {
      const set = tails.filter((tail) => tail[bit] === "1").length;
      // Ten standard deviations.
      expect(Math.abs(set - count / 2)).toBeLessThan(500);
    }
  });

  test("and a claim's token of 128 bits are drawn by the operating system's generator alone", () => {
    const { random } = createContext({
      MINUTEHAND_TABLE: "t",
      MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs.us-east-1.amazonaws.com/1/m-",
      MINUTEHAND_POLICY: "{}",
    });
    const weak = vi.spyOn(Math, "random");
    const drawn = vi.mocked(crypto.randomBytes).mockClear();
    drawJobId(START, 8, random);
    expect(drawn.mock.calls).toEqual([[16]]);
    const token = drawToken(random);
    expect(drawn.mock.calls).toEqual([[16], [16]]);
    const given = drawn.mock.results[1]?.value as Buffer;
    expect(Buffer.from(token, "base64url")).toEqual(given);
    expect(weak).not.toHaveBeenCalled();
  });
});

/** Two topics of each kind, so that each topic has another one of its kind. */
const createTopics = () =>
  createApi(
    createWorld({
      topics: {
        a: {},
        b: {},
        work: { consumer: "pull" },
        other: { consumer: "pull" },
        events: { consumer: "pull", tracking: "none" },
        others: { consumer: "pull", tracking: "none" },
      },
    }),
  );
type Api = ReturnType<typeof createTopics>;

function everything({ world }: Api): string {
  const topics = Object.keys(world.ctx.policy.topics);
  const messages = topics.flatMap((topic) => [
    world.queues.messages({ topic }),
    world.queues.messages({ topic, dead: true }),
  ]);
  return JSON.stringify([world.pool.items(), messages]);
}

async function refused(api: Api, method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const before = everything(api);
  const { status, json } = await api.call(method, path, body === undefined ? {} : { body });
  expect(everything(api)).toBe(before);
  return [status, json.code];
}

describe("a key", () => {
  test("of one topic names nothing on the path of another", async () => {
    const api = createTopics();
    const { id } = await api.file({ topic: "a", key: "order-1" });
    for (const name of ["order-1", String(id)]) {
      for (const method of ["GET", "DELETE"])
        expect(await refused(api, method, `/topics/b/jobs/${name}`)).toEqual([404, "job-not-found"]);
    }
    const put = await api.call("PUT", "/topics/b/jobs/order-1", { body: { body: 1, delay: 1 } });
    expect(put.status).toBe(201);
    await api.call("DELETE", "/topics/b/jobs/order-1");
    expect((await api.call("GET", "/topics/a/jobs/order-1")).json).toMatchObject({ id, state: "scheduled" });
  });

  test("cannot be written so that it means another topic's", async () => {
    const api = createTopics();
    await api.file({ topic: "a", key: "k" });
    for (const path of [
      "/topics/b/jobs/..%2F..%2Fa%2Fjobs%2Fk",
      "/topics/b%23a/jobs/k",
      "/topics/b/jobs/%23a%23k",
    ])
      expect((await refused(api, "DELETE", path))[0]).toBe(400);
  });

  test("and an Idempotency-Key are each topic's own", async () => {
    const api = createTopics();
    const headers = { "idempotency-key": "once" };
    const first = await api.file({ topic: "a", key: "k" }, headers);
    const second = await api.file({ topic: "b", key: "k" }, headers);
    expect(second.id).not.toBe(first.id);
  });
});

type Pulled = { id: string; receipt: string };

async function pull(api: Api, topic: string): Promise<Pulled> {
  await api.file({ topic, delay: 0 });
  const { json } = await api.call("POST", `/topics/${topic}/receive`);
  const [pulled] = json.jobs as Pulled[];
  if (!pulled) throw new Error(`no job of ${topic} was pulled`);
  return pulled;
}

const VERBS: [string, Json][] = [
  ["finish", {}],
  ["extend", { seconds: 60 }],
  ["retry", { delay: 0 }],
  ["bury", {}],
];
/** A bury of an untracked job is refused whatever its receipt. */
const LOOSE_VERBS = VERBS.filter(([verb]) => verb !== "bury");

describe("a receipt", () => {
  test.each(VERBS)("of one topic is no receipt on the path of another: %s", async (verb, more) => {
    const api = createTopics();
    const { receipt } = await pull(api, "work");
    const body = { receipt, ...more };
    expect(await refused(api, "POST", `/topics/other/${verb}`, body)).toEqual([404, "job-not-found"]);
    expect(await refused(api, "POST", `/topics/a/${verb}`, body)).toEqual([409, "not-a-pull-topic"]);
    expect((await refused(api, "POST", `/topics/events/${verb}`, body))[0]).toBe(409);
    expect(await api.call("POST", `/topics/work/${verb}`, { body })).toMatchObject({ status: 200 });
  });

  test.each(LOOSE_VERBS)("of an untracked topic is refused for another: %s", async (verb, more) => {
    const api = createTopics();
    const { receipt } = await pull(api, "events");
    const body = { receipt, ...more };
    expect(await refused(api, "POST", `/topics/others/${verb}`, body)).toEqual([409, "claim-lost"]);
    expect(await refused(api, "POST", `/topics/work/${verb}`, body)).toEqual([409, "claim-lost"]);
    expect(await api.call("POST", `/topics/events/${verb}`, { body })).toMatchObject({ status: 200 });
  });

  const forgeries: [string, (real: Receipt, own: Receipt) => Receipt][] = [
    ["a made-up token", (real) => ({ ...real, token: "A".repeat(22) })],
    ["the token of another claim", (real, own) => ({ ...real, token: own.token ?? "" })],
    ["a token that begins right", (real) => ({ ...real, token: real.token?.slice(0, -1) ?? "" })],
    ["no token", ({ token: _, ...real }) => real],
  ];
  describe.each(forgeries)("with all right but %s", (_, forge) => {
    test.each(VERBS)("is a lost claim and deletes neither home nor message: %s", async (verb, more) => {
      const api = createTopics();
      const own = decodeReceipt((await pull(api, "work")).receipt) as Receipt;
      const real = decodeReceipt((await pull(api, "work")).receipt) as Receipt;
      const body = { receipt: encodeReceipt(forge(real, own)), ...more };
      expect(await refused(api, "POST", `/topics/work/${verb}`, body)).toEqual([409, "claim-lost"]);
    });
  });
});

describe("a cursor", () => {
  test("for the dead jobs of one topic is refused for those of another", async () => {
    const api = createTopics();
    for (const topic of ["work", "work", "other", "other"]) {
      const { receipt } = await pull(api, topic);
      await api.call("POST", `/topics/${topic}/bury`, { body: { receipt } });
    }
    const { json } = await api.call("GET", "/topics/work/dead?limit=1");
    const next = `dead?limit=1&cursor=${json.cursor}`;
    expect(await refused(api, "GET", `/topics/other/${next}`)).toEqual([400, "bad-request"]);
    expect(await refused(api, "GET", `/jobs?cursor=${json.cursor}`)).toEqual([400, "bad-request"]);
    expect((await api.call("GET", `/topics/work/${next}`)).status).toBe(200);
  });

  test("for the list of one topic is refused for the list of another, and for the dead jobs", async () => {
    const api = createTopics();
    for (const topic of ["work", "work", "other"]) await api.file({ topic, delay: HOUR / 2000 });
    const { json } = await api.call("GET", "/jobs?topic=work&limit=1");
    for (const path of ["/jobs?topic=other", "/jobs?limit=1", "/topics/work/dead?limit=1"])
      expect(await refused(api, "GET", `${path}&cursor=${json.cursor}`)).toEqual([400, "bad-request"]);
    expect((await api.call("GET", `/jobs?topic=work&cursor=${json.cursor}`)).status).toBe(200);
  });
});

test("a redrive that names the ids of another topic's jobs does not redrive them", async () => {
  const api = createTopics();
  const { id, receipt } = await pull(api, "work");
  await api.call("POST", "/topics/work/bury", { body: { receipt } });
  const body = { ids: [id] };
  expect(await refused(api, "POST", "/topics/other/redrive", body)).toEqual([404, "job-not-found"]);
  expect((await api.call("POST", "/topics/other/redrive", { body: {} })).json).toEqual({
    redriven: 0,
    left: 0,
  });
});
