import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";
import { createApi } from "../support/api.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { createWorld } from "../support/world.ts";
import { type Block, blocks, fileOf, nameOf, ROOT, readPage } from "./blocks.ts";

/** Where the blocks become files: inside the repository, so that they find the package by its name. */
const FOLDER = join(ROOT, "dist", "docs-blocks");

const TSC = join(ROOT, "node_modules", ".bin", "tsc");

type Written = {
  readonly name: string;
  readonly folder: string;
  readonly path: string;
  readonly isTest: boolean;
};

/**
 * Writes a block to a file in its page's folder, beside the stand-ins for modules that the page does not show. An app of `cdk init` is CommonJS,
 * whose imports name no extension: here they get one.
 */
function write(block: Block): Written {
  const folder = join(FOLDER, block.page.replaceAll(/[/.]/g, "-"));
  const path = join(folder, fileOf(block) ?? `line-${block.line}.ts`);
  cpSync(join(import.meta.dirname, "stand-ins"), dirname(path), { recursive: true });
  writeFileSync(path, block.text.replaceAll(/ from "(\.\.\/lib\/[\w-]+)"/g, ' from "$1.ts"'));
  return { name: nameOf(block), folder, path, isTest: block.text.includes('from "vitest"') };
}

rmSync(FOLDER, { recursive: true, force: true });
const written = blocks()
  .filter(({ kind }) => kind === "ts")
  .map(write);

test("each block of TypeScript compiles", () => {
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: "../../tsconfig.json", compilerOptions, include: ["**/*.ts"], exclude: [] };
  writeFileSync(join(FOLDER, "tsconfig.json"), JSON.stringify(config));
  const { status, stdout } = spawnSync(TSC, ["--project", FOLDER, "--pretty", "false"], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

const TOPICS = { "order-timeout": {}, reminders: {} };
/** Credentials, what the construct gives a producer, and what a receiver has. */
const ENVIRONMENT = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret",
  MINUTEHAND_TABLE: "jobs",
  MINUTEHAND_QUEUE_URL_PREFIX: "https://sqs/1/minutehand-",
  MINUTEHAND_POLICY: JSON.stringify({ topics: TOPICS }),
  WEBHOOK_SECRET: Buffer.alloc(33, 7).toString("base64"),
};

beforeAll(() => {
  // The API in memory answers every request that a block sends, whatever its address.
  const { app } = createApi(createWorld({ topics: TOPICS }));
  vi.stubGlobal("fetch", (...request: ConstructorParameters<typeof Request>) =>
    fetchApp(app, new Request(...request)),
  );
  for (const [name, value] of Object.entries(ENVIRONMENT)) vi.stubEnv(name, value);
});

afterAll(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

test.each(written.filter(({ isTest }) => !isTest))("$name runs", async ({ folder, path }) => {
  const before = process.cwd();
  process.chdir(folder);
  try {
    await import(path);
  } finally {
    process.chdir(before);
  }
});

for (const { name, path } of written.filter(({ isTest }) => isTest)) {
  describe(name, async () => {
    // Its own tests become tests of this file.
    await import(path);
    // The blocks after it import the module that it mocks, and not the mock.
    for (const [, mocked = ""] of readFileSync(path, "utf8").matchAll(/vi\.mock\("(.+?)"/g))
      vi.doUnmock(join(dirname(path), mocked));
  });
}

type Delayed = { name: string; data: string; opts: string; delay: string };

/** BullMQ's list of delayed jobs as Redis has it, with the calls that the page's move makes. */
function bullRedis(jobs: Map<string, Delayed>, due: number) {
  const listed = new Set(jobs.keys());
  const idOf = (key: string): string => key.replace(/^bull:order-timeout:/, "");
  return {
    listed,
    zrange: async (...call: unknown[]) => {
      expect(call).toEqual(["bull:order-timeout:delayed", 0, "-1", "WITHSCORES"]);
      // BullMQ adds a counter to the scores of jobs that are due in the same millisecond.
      return [...listed].flatMap((id, count) => [id, String(due * 4096 + count)]);
    },
    hmget: async (key: string, ...fields: (keyof Delayed)[]) =>
      fields.map((field) => jobs.get(idOf(key))?.[field] ?? null),
    zrem: async (key: string, id: string) => {
      expect(key).toBe("bull:order-timeout:delayed");
      return Number(listed.delete(id));
    },
  };
}

async function bullMove() {
  const { move } = await programOf("bullmq", "move.ts");
  const { orderPaid } = await programOf("bullmq", "orders.ts");
  const queue = createTestQueue({ topics: { "order-timeout": { handler: () => {} } } });
  const due = queue.now().getTime() + 3_600_000;
  const delayed = (orderId: string, opts: object = {}): Delayed => ({
    ...{ name: "close", data: JSON.stringify({ orderId }), opts: JSON.stringify(opts), delay: "3600000" },
  });
  return { move, orderPaid, queue, due, delayed };
}

test("a delayed job of BullMQ is moved to the time of its score with its attempts, and is cancelled by its old id", async () => {
  const { move, orderPaid, queue, due, delayed } = await bullMove();
  const jobs = new Map([
    ["order-17", delayed("17", { attempts: 4 })],
    ["order-18", delayed("18")],
    ["order-19", delayed("19")],
    ["repeat:daily:1", delayed("20")],
    ["mail-1", { ...delayed("21"), name: "mail" }],
  ]);
  const redis = bullRedis(jobs, due);
  jobs.delete("order-19"); // removed after the list was read
  await move(redis, queue.client);
  const moved = queue.jobs().map(({ key, body, dueAt }) => ({ key, body, dueAt: Date.parse(dueAt) }));
  expect(moved).toEqual(
    ["17", "18"].map((orderId) => ({ key: `order-${orderId}`, body: { orderId }, dueAt: due })),
  );
  expect(queue.jobs().map(({ maxAttempts }) => maxAttempts)).toEqual([4, 1]);
  expect([...redis.listed]).toEqual(["order-19", "repeat:daily:1", "mail-1"]);
  expect(await orderPaid(queue.client, "17")).toBe(true);
  await move(redis, queue.client);
  expect(queue.jobs().map(({ state }) => state)).toEqual(["cancelled", "scheduled"]);
  await queue.advance("1h");
  expect(queue.jobs().map(({ state }) => state)).toEqual(["cancelled", "done"]);
});

test.each([
  ["taken by a worker of BullMQ", "0", "cancelled"],
  ["removed", undefined, "cancelled"],
  ["taken out of the list by a call whose answer was lost", "3600000", "scheduled"],
])("a job that was %s during the move", async (_, delay, state) => {
  const { move, queue, due, delayed } = await bullMove();
  const jobs = new Map([["order-17", delayed("17")]]);
  const redis = bullRedis(jobs, due);
  const zrem = async (): Promise<number> => {
    if (delay === undefined) jobs.delete("order-17");
    else jobs.set("order-17", { ...delayed("17"), delay });
    return 0;
  };
  await move({ ...redis, zrem }, queue.client);
  expect(queue.jobs().map((job) => job.state)).toEqual([state]);
});

/** The module of a program of a page about coming from another tool. */
const programOf = (tool: string, file: string) => import(join(FOLDER, `docs-guides-from-${tool}-md`, file));

/** The seconds after the first call at which a mail was sent, if the function was called at each second of `calls`. */
async function mailsOf(name: string, calls: readonly number[]): Promise<string[]> {
  const mails = await programOf("bullmq", "mails.ts");
  const start = Date.UTC(2026, 0, 1);
  const sent: string[] = [];
  const handler = ({ body }: { body: { to: string } }): void => {
    sent.push(`${body.to} at ${(queue.now().getTime() - start) / 1000}`);
  };
  const queue = createTestQueue({ topics: { mail: { handler } }, now: new Date(start) });
  for (const second of calls) {
    const passes = second - (queue.now().getTime() - start) / 1000;
    if (passes > 0) await queue.advance(passes);
    await mails[name](queue.client, "ada", queue.now().getTime());
  }
  await queue.advance("2m");
  return sent;
}

test.each([
  ["once", [0, 0, 1, 2], ["ada at 0", "ada at 1", "ada at 2"]],
  ["throttled", [0, 1, 4, 6], ["ada at 5", "ada at 11"]],
  ["throttledAtOnce", [0, 1, 4, 6], ["ada at 0", "ada at 6"]],
  ["debounced", [0, 1, 4, 8, 20], ["ada at 13", "ada at 25"]],
])(
  "the counterpart `%s` of BullMQ's deduplication sends mails as the page says",
  async (name, calls, sent) => {
    expect(await mailsOf(name, calls)).toEqual(sent);
  },
);

test("the throttled mail of the same window with another body is no error", async () => {
  const { throttledAtOnce } = await programOf("bullmq", "mails.ts");
  const queue = createTestQueue({ topics: { mail: { handler: () => {} } } });
  await queue.client.enqueue("mail", { other: 1 }, { idempotencyKey: "ada 0", delay: 0 });
  await throttledAtOnce(queue.client, "ada", 0);
  expect(queue.jobs()).toHaveLength(1);
});

test.each([
  ["agenda", "reminders.ts", "remind", "forget", "reminders"],
  ["sqs", "orders.ts", "placeOrder", "orderPaid", "order-timeout"],
  ["qstash", "publish.ts", "placeOrder", "orderPaid", "callbacks"],
])(
  "the sender of the page from %s files a job once, and cancels it",
  async (tool, file, enqueue, cancel, topic) => {
    const sender = await programOf(tool, file);
    const called = { webhook: { url: "https://shop.example" }, receiver: () => ({ status: 204, body: "" }) };
    const queue = createTestQueue({ topics: { [topic]: called } });
    for (const name of ["17", "17", "18"]) await sender[enqueue](queue.client, name);
    expect(await sender[cancel](queue.client, "17")).toMatchObject({ outcome: "cancelled" });
    await queue.advance("1h");
    expect(queue.jobs().map(({ state }) => state)).toEqual(["cancelled", "done"]);
  },
);

type AgendaJob = { _id: number; data: { text: string }; nextRunAt: Date | null; lockedAt?: Date };

/** Agenda's collection, with the calls that the page's move makes. A field that is absent matches `null`, as in MongoDB. */
function agendaJobs(documents: AgendaJob[], beforeDelete: (job: AgendaJob) => void = () => {}) {
  const matches = (job: object, filter: object): boolean =>
    Object.entries(filter).every(([name, wanted]) => {
      const value = Reflect.get(job, name) ?? null;
      const isNot = wanted !== null && typeof wanted === "object" && "$ne" in wanted;
      return isNot ? value !== wanted.$ne : String(value) === String(wanted);
    });
  return {
    find: (filter: object) => ({ toArray: async () => documents.filter((job) => matches(job, filter)) }),
    async deleteOne(filter: { _id: number }) {
      for (const job of documents.filter(({ _id }) => _id === filter._id)) beforeDelete(job);
      const at = documents.findIndex((job) => matches(job, filter));
      if (at >= 0) documents.splice(at, 1);
      return { deletedCount: at >= 0 ? 1 : 0 };
    },
  };
}

describe("the move from Agenda", () => {
  const later = new Date(Date.now() + 3_600_000);
  const waiting = (_id: number, text: string, more: object = {}): AgendaJob => ({
    ...{ _id, name: "reminders", data: { text }, nextRunAt: later, ...more },
  });

  test("moves the waiting jobs of one name that do not repeat, under the keys of the new code", async () => {
    const { keyOf, mongoJobs, move } = await programOf("agenda", "agenda-move.ts");
    const queue = createTestQueue({ topics: { reminders: { handler: () => {} } }, now: new Date() });
    const documents = [
      waiting(1, "call Ada"),
      waiting(2, "other", { name: "mails" }),
      waiting(3, "repeats", { repeatInterval: "3 minutes" }),
      waiting(4, "runs", { lockedAt: new Date() }),
      waiting(5, "done", { nextRunAt: null }),
      waiting(6, "soon", { nextRunAt: new Date(Date.now() + 299_000) }),
      waiting(7, "stands still", { disabled: true }),
    ];
    await move(mongoJobs(agendaJobs(documents)), queue.client);
    await move(mongoJobs(agendaJobs(documents)), queue.client);
    expect(documents.map(({ _id }) => _id)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(queue.jobs()).toMatchObject([
      { key: keyOf({ text: "call Ada" }), body: { text: "call Ada" }, dueAt: later.toISOString() },
    ]);
    const job = { topic: "reminders", key: keyOf({ text: "call Ada" }) } as const;
    expect(await queue.client.cancelIfWaiting(job)).toMatchObject({ outcome: "cancelled" });
  });

  test("moves each of two jobs whose texts differ only in other letters or signs", async () => {
    const { mongoJobs, move } = await programOf("agenda", "agenda-move.ts");
    const queue = createTestQueue({ topics: { reminders: { handler: () => {} } }, now: new Date() });
    const texts = ["позвонить маме", "купить хлеб", "Pay 5", "Pay €5"];
    await move(mongoJobs(agendaJobs(texts.map((text, id) => waiting(id, text)))), queue.client);
    const moved = queue.jobs().map(({ body }) => (body as { text: string }).text);
    expect(moved.sort()).toEqual(texts.sort());
  });

  test("leaves a job that Agenda takes during the move", async () => {
    const { mongoJobs, move } = await programOf("agenda", "agenda-move.ts");
    const queue = createTestQueue({ topics: { reminders: { handler: () => {} } }, now: new Date() });
    const documents = [waiting(1, "call Ada")];
    const take = (job: AgendaJob): void => void Object.assign(job, { lockedAt: new Date() });
    await move(mongoJobs(agendaJobs(documents, take)), queue.client);
    expect(documents).toHaveLength(1);
    expect(queue.jobs()).toMatchObject([{ state: "cancelled" }]);
  });
});

/** Rows of which each has these values. `mark` sets the row's `filed`. */
function marking(row: { dueAt: Date; version: number }, mark: (id: string) => unknown = () => {}) {
  return {
    async markFiled(id: string, file: (row: object) => Promise<void>) {
      await file({ id, ...row });
      mark(id);
    },
  };
}

test("the hourly poll of a table files a missing job once, and no row of a dead job again", async () => {
  const { fileJob, fileMissing } = await programOf("polled-table", "rows.ts");
  const handler = (): void => {
    throw new Error("no route");
  };
  const queue = createTestQueue({ topics: { "order-timeout": { handler, maxAttempts: 1 } } });
  const dueAt = new Date(queue.now().getTime() + 60_000);
  const filed = new Set<string>();
  const rows = {
    unfiled: async () => ["17", "no key", "18"].filter((id) => !filed.has(id)),
    ...marking({ dueAt, version: 1 }, (id) => filed.add(id)),
  };
  await fileJob(queue.client, rows, "17");
  const died = marking({ dueAt, version: 1 }, () => {
    throw new Error("the process dies");
  });
  await expect(fileJob(queue.client, died, "18")).rejects.toThrow("dies");
  await queue.advance("1h");
  expect([...filed]).toEqual(["17"]);
  await fileMissing(queue.client, rows);
  await queue.advance("1h");
  expect([...filed]).toEqual(["17", "18"]);
  expect(queue.jobs().map(({ key, state }) => `${key} ${state}`)).toEqual(["order-17 dead", "order-18 dead"]);
  const [soon, later] = [1, 2].map((hours) => new Date(queue.now().getTime() + hours * 3_600_000));
  // The third change gives the row its second time again.
  const times = [later, soon, later] as Date[];
  for (const [version, dueAt] of times.entries())
    await fileJob(queue.client, marking({ dueAt, version }), "19");
  expect(queue.jobs().at(-1)).toMatchObject({
    key: "order-19",
    dueAt: later?.toISOString(),
    state: "scheduled",
  });
  expect(queue.jobs()).toHaveLength(3);
});

/** The first SQL statement of the guide that matches, as SQLite takes it. */
function statementOf(pattern: RegExp): string {
  const [, sql = ""] = pattern.exec(readPage("docs/guides/from-polled-table.md")) ?? [];
  return sql.replace("now()", "?").replace("…", "?").replace(" FOR UPDATE SKIP LOCKED", "");
}

test("a row that the old poll runs while a table moves over is not run again, and a row that is filed is left to its job", async () => {
  const { fileJob, fileMissing } = await programOf("polled-table", "rows.ts");
  using db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE orders (id, due_at, closed DEFAULT false, filed DEFAULT false)");
  const select = db.prepare(statementOf(/`(SELECT id FROM orders WHERE due_at [^`]*)`/));
  const finish = db.prepare(statementOf(/`(UPDATE orders SET closed [^`]*)`/));
  const unfiled = db.prepare(statementOf(/: Promise<string\[\]>; \/\/ (SELECT .*)/));
  const insert = db.prepare("INSERT INTO orders (id, due_at) VALUES (?, ?)");
  const mark = db.prepare("UPDATE orders SET filed = true WHERE id = ?");
  const ran: string[] = [];
  const handler = ({ body }: { body: { orderId: string } }) => void ran.push(`job of ${body.orderId}`);
  const queue = createTestQueue({ topics: { "order-timeout": { handler } } });
  const idsOf = (found: object[]) => found.map((row) => (row as { id: string }).id);
  const poll = (): void => {
    for (const id of idsOf(select.all(queue.now().getTime()))) {
      ran.push(`poll of ${id}`);
      finish.run(id);
    }
  };
  const dueAt = new Date(queue.now().getTime() + 60_000);
  const file = marking({ dueAt, version: 1 }, (id) => mark.run(id));
  const rows = { ...file, unfiled: async () => idsOf(unfiled.all()) };
  for (const id of ["polled", "filed", "waiting"]) insert.run(id, id === "polled" ? 0 : dueAt.getTime());
  await fileJob(queue.client, rows, "filed");
  poll();
  await fileMissing(queue.client, rows);
  await queue.advance("1h");
  poll();
  expect(ran).toEqual(["poll of polled", "job of filed", "job of waiting"]);
});

test("a change of a row whose job runs leaves the row to the poll, and the job that runs closes no order", async () => {
  const { cancelJob, fileJob, handlerOf } = await programOf("polled-table", "rows.ts");
  const order = { version: 1, paid: false, closed: false };
  const marked: string[] = [];
  const dueAt = new Date(Date.UTC(2026, 0, 1, 1));
  const mark = (id: string) => marked.push(id);
  const file = () => fileJob(queue.client, marking({ dueAt, ...order }, mark), "17");
  let meanwhile = async (): Promise<void> => {};
  const update = async (sql: string, [id, version]: unknown[]): Promise<void> => {
    expect([sql, id]).toEqual([
      "UPDATE orders SET closed = true WHERE id = $1 AND version = $2 AND NOT paid",
      "17",
    ]);
    await meanwhile();
    if (version === order.version && !order.paid) order.closed = true;
  };
  const queue = createTestQueue({ topics: { "order-timeout": { handler: handlerOf(update) } } });
  await file();
  meanwhile = async () => {
    order.version = 2;
    await file();
    await cancelJob(queue.client, "17"); // too late as well
  };
  await queue.advance("1h");
  expect({ marked, ...order }).toMatchObject({ marked: ["17"], closed: false });
  meanwhile = async () => {};
  await file();
  await queue.advance("1h");
  expect({ marked, ...order }).toMatchObject({ marked: ["17", "17"], closed: true });
  order.version = 3;
  dueAt.setUTCDate(2);
  await file();
  await cancelJob(queue.client, "17");
  expect(queue.jobs().map(({ state }) => state)).toEqual(["done", "done", "cancelled"]);
});

type QStashMessage = { body?: string; notBefore?: number; maxRetries?: number; scheduleId?: string };

/** QStash with the calls that the page's move makes. The messages of `gone` are cancelled after they were read. */
function qstashOf(messages: Record<string, QStashMessage>, gone: readonly string[] = []) {
  const live = new Map(Object.entries(messages));
  const ids = [...live.keys()];
  const schedules = new Map<string, object>();
  return {
    live,
    schedules,
    client: {
      async logs({ cursor, filter }: { cursor?: string; filter: object }) {
        expect(filter).toEqual({ state: "CREATED", url: "https://shop.example/orders/close" });
        const at = Number(cursor ?? 0);
        const logs = ids.slice(at, at + 2).map((messageId) => ({ messageId }));
        return { logs, ...(at + 2 < ids.length && { cursor: String(at + 2) }) };
      },
      messages: {
        async get(id: string) {
          const found = live.get(id);
          if (!found) throw Object.assign(new Error("message not found"), { status: 404 });
          if (gone.includes(id)) live.delete(id);
          return found;
        },
        cancel: async (asked: string[]) => ({ cancelled: asked.filter((id) => live.delete(id)).length }),
      },
      schedules: {
        list: async () => [...schedules.values()],
        delete: async (id: string) => void schedules.delete(id),
      },
    },
  };
}

describe("the move from QStash", () => {
  const notBefore = Date.now() + 3_600_000;
  const order = (orderId: string, more: object = {}) => ({
    ...{ body: JSON.stringify({ orderId }), notBefore, ...more },
  });
  const callbacks = { webhook: {}, receiver: () => ({ status: 204, body: "" }) };
  const queueNow = () => createTestQueue({ topics: { callbacks }, now: new Date() });

  test("moves the messages of its log that wait, and cancels them in QStash", async () => {
    const { idsInLog, move } = await programOf("qstash", "qstash-move.ts");
    const queue = queueNow();
    const soon = Date.now() + 299_000;
    const { live, client } = qstashOf(
      {
        ...{ one: order("17", { maxRetries: 5 }), two: order("18"), bare: {} },
        ...{ soon: order("19", { notBefore: soon }), daily: order("20", { scheduleId: "daily" }) },
      },
      ["two"],
    );
    const done = { key: "order-17", delay: 0, callbackUrl: "https://shop.example/orders/close" };
    await queue.client.enqueue("callbacks", { orderId: "17" }, done);
    await queue.advance(0);
    await move(client, queue.client, idsInLog(client));
    await move(client, queue.client, ["delivered", "one"]);
    expect([...live.keys()]).toEqual(["bare", "soon", "daily"]);
    const dueAt = new Date(notBefore).toISOString();
    expect(queue.jobs()).toMatchObject([
      { key: "order-17", state: "done" },
      { key: "order-17", dueAt, maxAttempts: 6, body: { orderId: "17" }, state: "scheduled" },
      { key: "order-18", maxAttempts: 4, state: "cancelled" },
    ]);
    expect(queue.jobs()[1]).toMatchObject({ callbackUrl: "https://shop.example/orders/close" });
  });

  test("runs again after it was cut off, and files no job twice", async () => {
    const { move } = await programOf("qstash", "qstash-move.ts");
    const queue = queueNow();
    const { live, client } = qstashOf({ one: order("17") });
    const cutOff = async () => {
      throw new Error("the connection breaks");
    };
    const broken = { ...client, messages: { ...client.messages, cancel: cutOff } };
    await expect(move(broken, queue.client, ["one"])).rejects.toThrow("breaks");
    await queue.client.cancel({ topic: "callbacks", key: "order-17" });
    await move(client, queue.client, ["one"]);
    expect([...live]).toEqual([]);
    expect(queue.jobs().map(({ state }) => state)).toEqual(["cancelled"]);
  });

  test("moves the schedules of the receiver with their time zone", async () => {
    const { moveSchedules } = await programOf("qstash", "qstash-move.ts");
    const queue = queueNow();
    const { schedules, client } = qstashOf({});
    const destination = "https://shop.example/orders/close";
    const old = (scheduleId: string, more: object = {}) =>
      schedules.set(scheduleId, {
        ...{
          scheduleId,
          destination,
          cron: "30 8 * * 1-5",
          isPaused: false,
          body: '{"orderId":"17"}',
          ...more,
        },
      });
    old("daily", { cron: "CRON_TZ=Europe/Berlin 30 8 * * 1-5", retries: 1 });
    old("utc");
    old("paused", { isPaused: true });
    old("other", { destination: "https://shop.example/other" });
    await moveSchedules(client, queue.client);
    expect([...schedules.keys()]).toEqual(["paused", "other"]);
    expect(await queue.client.schedule("daily")).toMatchObject({
      ...{ expression: "cron(30 8 ? * MON-FRI *)", timezone: "Europe/Berlin" },
      ...{ topic: "callbacks", body: { orderId: "17" }, callbackUrl: destination, maxAttempts: 2 },
    });
    expect(await queue.client.schedule("utc")).toMatchObject({ timezone: "UTC" });
  });
});

test("a receiver takes the calls of QStash and of Minutehand, and no other", async () => {
  const { bodyOf } = await programOf("qstash", "receive.ts");
  const url = "https://shop.example/orders/close";
  const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
  const body = '{"orderId":"17"}';
  const called = (headers: Record<string, string>) => new Request(url, { method: "POST", body, headers });
  const qstash = {
    verify: async (call: object) => String(Reflect.get(call, "signature")) === `${url} ${body}`,
  };
  const take = (headers: Record<string, string>) => bodyOf(called(headers), url, qstash, secret);
  const now = new Date();
  const signature = new Webhook(secret).sign("id", now, body);
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const signed = { "webhook-id": "id", "webhook-timestamp": timestamp, "webhook-signature": signature };
  expect(await take(signed)).toEqual({ orderId: "17" });
  expect(await take({ "upstash-signature": `${url} ${body}` })).toEqual({ orderId: "17" });
  await expect(take({ ...signed, "webhook-id": "other" })).rejects.toThrow();
  await expect(take({ ...signed, "upstash-signature": "forged" })).rejects.toThrow("does not fit");
  await expect(take({})).rejects.toThrow();
});
