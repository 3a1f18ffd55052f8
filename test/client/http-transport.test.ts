import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Authorize, authorizeBy } from "../../src/client/authorize.ts";
import { clientOver } from "../../src/client/client-over.ts";
import { httpTransport } from "../../src/client/http-transport.ts";
import { startReceiver } from "../support/receiver.ts";
import { serveInTrouble, type Trouble, type TroubledApi } from "../support/troubled-api.ts";

const TIMEOUT = 29_000;
const LONG = 7000;
const LONGEST = 20_000;
const unauthorized: Authorize = async ({ headers }) => headers;

type Options = Partial<Parameters<typeof httpTransport>[0]>;

let keys = 0;
function clientOf({ url }: { url: string }, options: Options = {}) {
  const settings = { authorize: unauthorized, timeout: TIMEOUT, retries: 3, firstWait: 1, random: () => 0 };
  const transport = httpTransport({ ...settings, ...options });
  return clientOver({ transport, url, newKey: () => `key-${++keys}` });
}

const jobs = ({ api }: TroubledApi) => api.world.pool.items().filter((item) => "body" in item);
const job = ["orders", { n: 1 }, { delay: "1h" }] as const;

/** The durations of the timers that are set while `work` runs, in ms. Timers of `LONG` and `LONGEST` end at once. */
async function timersOf(work: () => Promise<unknown>): Promise<number[]> {
  const timers: number[] = [];
  const real = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((act: () => void, ms = 0, ...more: []) => {
    timers.push(ms);
    return real(act, ms === LONG || ms === LONGEST ? 0 : ms, ...more);
  }) as typeof setTimeout);
  await work();
  return timers;
}
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a call over the network", () => {
  const once: [string, Trouble][] = [
    ["the API cannot serve it for now", { status: 503, headers: { "retry-after": "0" } }],
    ["a gateway throttles it", { status: 429, body: '{"message":"Too Many Requests"}' }],
    ["a gateway gets no answer", { status: 504, body: "<html>" }],
    ["it is cut off before it arrives", "cut before"],
    ["its answer is lost after it took effect", "cut after"],
    ["its answer breaks off", "cut midway"],
  ];
  test.each(once)("files one job although %s", async (_, trouble) => {
    await using served = await serveInTrouble([trouble]);
    const { id } = await clientOf(served).enqueue(...job);
    expect(served.received).toHaveLength(2);
    expect(new Set(served.received.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(jobs(served)).toMatchObject([{ id }]);
  });

  test("files each job of a batch once although its answer is lost", async () => {
    await using served = await serveInTrouble(["cut after"]);
    const batch = [1, 2].map((body) => ({ topic: "orders", body, delay: "1h" as const }));
    const filed = await clientOf(served).enqueueMany(batch);
    expect(filed).toMatchObject([{ outcome: "replayed" }, { outcome: "replayed" }]);
    expect(jobs(served)).toHaveLength(2);
  });

  test("that is aborted while it waits for its answer, or for its repeat, throws the reason", async () => {
    for (const trouble of ["hang", { status: 503, headers: { "retry-after": "20" } }] as const) {
      await using served = await serveInTrouble([trouble]);
      const aborting = new AbortController();
      const call = clientOf(served).enqueue("orders", 1, { delay: "1h", signal: aborting.signal });
      const refused = expect(call).rejects.toThrow("enough");
      await expect.poll(() => served.received.length).toBe(1);
      aborting.abort(new Error("enough"));
      await refused;
      expect(served.received).toHaveLength(1);
    }
  });

  test("that nobody answers in time is repeated", async () => {
    await using served = await serveInTrouble(["hang"]);
    // A busy machine may let later tries time out too.
    await clientOf(served, { timeout: 2000, retries: 20 }).enqueue(...job);
    expect(served.received.length).toBeGreaterThan(1);
    expect(jobs(served)).toHaveLength(1);
  });

  test.each([
    [1000, { waitSeconds: 7 }, 17_000],
    [1000, {}, 10_000],
    [TIMEOUT, { waitSeconds: 7 }, TIMEOUT],
  ])("with a timeout of %i ms that receives with %j waits for %i ms", async (timeout, request, expected) => {
    await using served = await serveInTrouble([]);
    const client = clientOf(served, { timeout });
    expect(await timersOf(() => client.receive("work", request))).toContain(expected);
  });

  test.each(once.filter(([what]) => what !== "a gateway throttles it"))(
    "that receives is not repeated if jobs may have been claimed: %s",
    async (_, trouble) => {
      await using served = await serveInTrouble([trouble]);
      await expect(clientOf(served).receive("work")).rejects.toThrow();
      expect(served.received).toHaveLength(1);
    },
  );

  test("that receives is repeated if a gateway throttles it", async () => {
    await using served = await serveInTrouble([{ status: 429, body: '{"message":"Too Many Requests"}' }]);
    expect(await clientOf(served).receive("work")).toEqual([]);
    expect(served.received).toHaveLength(2);
  });

  test("that receives and gets no answer fails, and the error says that it is not retried", async () => {
    await using served = await serveInTrouble(["cut after"]);
    await expect(clientOf(served).receive("work")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("which is not retried"),
    });
  });

  test("that receives with a wait that is no number is refused by the API", async () => {
    await using served = await serveInTrouble([]);
    const request = { waitSeconds: "long" as unknown as number };
    await expect(clientOf(served).receive("work", request)).rejects.toMatchObject({ status: 400 });
  });

  test("has an Idempotency-Key of its own, or the caller's", async () => {
    await using served = await serveInTrouble([]);
    const client = clientOf(served);
    await client.enqueue(...job);
    await client.enqueue(...job);
    const options = { delay: "1h", idempotencyKey: "mine" } as const;
    const first = await client.enqueue("orders", { n: 1 }, options);
    expect((await client.enqueue("orders", { n: 1 }, options)).id).toBe(first.id);
    const sent = served.received.map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(sent).size).toBe(3);
    expect(sent.slice(2)).toEqual(["mine", "mine"]);
  });

  test("is repeated whatever its method", async () => {
    await using served = await serveInTrouble([1, 2, 3, 4].flatMap(() => ["cut after", undefined]));
    const id = String((await served.api.file()).id);
    const client = clientOf(served, { retries: 1 });
    const { dueAt } = await client.get(id);
    expect(await client.reschedule(id, { dueAt })).toMatchObject({ id });
    expect(await client.put("orders", "17", { body: 2, delay: "1h" })).toMatchObject({ outcome: "replayed" });
    expect(await client.cancel(id)).toMatchObject({ state: "cancelled" });
  });

  test("puts one job under a key, although its answer is lost and the job has ended before the repeat", async () => {
    await using served = await serveInTrouble(["cut after"]);
    const { api, received } = served;
    /** The job runs between both tries. */
    const authorize: Authorize = async ({ headers }) => {
      if (received.length === 1) {
        const { receipt } = await api.receive();
        await api.call("POST", "/topics/work/finish", { body: { receipt } });
      }
      return headers;
    };
    const put = clientOf(served, { authorize }).put("work", "17", { body: 1, delay: 0 });
    expect(await put).toMatchObject({ state: "done", outcome: "replayed" });
    expect(jobs(served)).toHaveLength(1);
  });

  test("waits with exponential backoff and jitter before each repeat", async () => {
    await using served = await serveInTrouble(["cut before", "cut before", "cut before"]);
    const client = clientOf(served, { firstWait: 8, random: () => 0.5 });
    const timers = await timersOf(() => client.enqueue(...job));
    expect(timers.filter((ms) => ms > 0 && ms < 100)).toEqual([4, 8, 16]);
  });

  test.each([
    ["as long as the API asks for", "7", LONG],
    ["20 s at most", "3600", LONGEST],
  ])("waits %s", async (_, seconds, expected) => {
    await using served = await serveInTrouble([{ status: 503, headers: { "retry-after": seconds } }]);
    expect(await timersOf(() => clientOf(served).enqueue(...job))).toContain(expected);
  });

  test("fails after the allowed repeats, and the error says why", async () => {
    await using served = await serveInTrouble(["cut before", "cut before"]);
    const call = clientOf(served, { retries: 1 }).enqueue(...job);
    await expect(call).rejects.toMatchObject({
      name: "MinutehandError",
      code: "unavailable",
      message: expect.stringMatching(/^no answer to POST http:\/\/127.*\/jobs, tried 2 times: \S/),
    });
    expect(jobs(served)).toEqual([]);
    await using cut = await serveInTrouble(["cut before"]);
    await expect(clientOf(cut, { retries: 0 }).enqueue(...job)).rejects.toThrow(", tried once: ");
  });

  test("that the API answers with 503 each time throws the API's own error", async () => {
    const body = JSON.stringify({ status: 503, code: "unavailable", detail: "repeat the call", more: 1 });
    const trouble = {
      status: 503,
      headers: { "retry-after": "0", "content-type": "application/problem+json" },
      body,
    };
    await using served = await serveInTrouble([trouble, trouble]);
    await expect(clientOf(served, { retries: 1 }).enqueue(...job)).rejects.toMatchObject({
      code: "unavailable",
      message: "repeat the call",
      status: 503,
      data: { more: 1 },
    });
  });

  test("that is refused for good is not repeated", async () => {
    await using served = await serveInTrouble([]);
    const refused = clientOf(served).enqueue("nowhere", 1, { delay: 1 });
    await expect(refused).rejects.toMatchObject({ code: "unknown-topic", status: 404 });
    expect(served.received).toHaveLength(1);
  });

  test("follows no redirect, which may lead to another host", async () => {
    await using served = await serveInTrouble([
      { status: 307, headers: { location: "https://other.example/" } },
    ]);
    const call = clientOf(served).enqueue(...job);
    await expect(call).rejects.toMatchObject({ code: "bad-answer", status: 307 });
  });

  test.each([200, 404, 503])(
    "reads no more of an answer %s than any answer of the API has, however short it is compressed",
    async (status) => {
      const packed = gzipSync(Buffer.alloc(200 * 1024 * 1024));
      await using receiver = await startReceiver((_, response) => {
        response.writeHead(status, { "content-encoding": "gzip", "content-type": "application/json" });
        response.end(packed);
      });
      const before = process.memoryUsage().arrayBuffers;
      const url = `http://127.0.0.1:${receiver.port}`;
      await expect(clientOf({ url }).topics()).rejects.toMatchObject({
        code: "bad-answer",
        message: `the answer to GET ${url}/topics has more than 10485760 bytes, so it is not from Minutehand's API`,
      });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60 * 1024 * 1024);
      expect(receiver.received).toHaveLength(1);
    },
  );

  test("gets a new token for each try", async () => {
    await using served = await serveInTrouble(["cut before"]);
    let asked = 0;
    const auth = { bearer: async () => `token-${++asked}` };
    await clientOf(served, { authorize: authorizeBy({ url: served.url, auth }) }).enqueue(...job);
    const sent = served.received.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});
