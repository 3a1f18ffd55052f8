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

type Delayed = { name: string; data: string; opts: string; delay: string; parentKey?: string };

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
    ["child", { ...delayed("22"), parentKey: "bull:orders:1" }],
  ]);
  const redis = bullRedis(jobs, due);
  jobs.delete("order-19"); // removed after the list was read
  await move(redis, queue.client);
  const moved = queue.jobs().map(({ key, body, dueAt }) => ({ key, body, dueAt: Date.parse(dueAt) }));
  expect(moved).toEqual(
    ["17", "18"].map((orderId) => ({ key: `order-${orderId}`, body: { orderId }, dueAt: due })),
  );
  expect(queue.jobs().map(({ maxAttempts }) => maxAttempts)).toEqual([4, 1]);
  expect([...redis.listed]).toEqual(["order-19", "repeat:daily:1", "mail-1", "child"]);
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

const TABLE_PAGE = "docs/guides/from-polled-table.md";

/** What the first group of the pattern matches in the page about a polled table. */
const inTablePage = (pattern: RegExp): string => pattern.exec(readPage(TABLE_PAGE))?.[1] ?? "";

/** The page's table, trigger and pool over SQLite, which has no `FOR UPDATE`, and whose triggers call no functions. */
function ordersTable() {
  const db = new DatabaseSync(":memory:");
  const sets = [...readPage(TABLE_PAGE).matchAll(/NEW\.(\w+) := (.+);/g)].map(
    ([, name, to]) => `${name} = ${to}`,
  );
  db.exec(`CREATE TABLE orders (id, due_at, paid DEFAULT false, closed DEFAULT false, filed DEFAULT false, version DEFAULT 1);
    CREATE TRIGGER unfile_order AFTER UPDATE ON orders WHEN ${inTablePage(/^ {2}WHEN \((.+)\)$/m)}
    BEGIN UPDATE orders SET ${sets.join()} WHERE id = OLD.id; END`);
  const query = async (sql: string, values: readonly (string | number | null)[] = []) => {
    const statement = db.prepare(sql.replace(/ FOR UPDATE.*/, "").replace("now()", "$1"));
    const rows = statement.all(Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value])));
    return { rows: rows.map((row) => ({ ...row, id: String(row.id), dueAt: new Date(Number(row.dueAt)) })) };
  };
  const connect = async () => ({
    query,
    release: (destroy = false): void => void (destroy && db.exec("ROLLBACK")),
  });
  const write = (id: string, dueAt?: Date) =>
    query("INSERT INTO orders (id, due_at) VALUES ($1, $2)", [id, dueAt?.getTime() ?? null]);
  const change = (id: string, sets: string, ...values: number[]) =>
    query(`UPDATE orders SET ${sets} WHERE id = $1`, [id, ...values]);
  const filed = () =>
    db
      .prepare("SELECT id FROM orders WHERE filed ORDER BY id")
      .all()
      .map(({ id }) => id);
  return { pool: { query, connect }, query, write, change, filed };
}

test("the hourly poll of a table files a missing job once, and no row of a dead job again", async () => {
  const { fileJob, fileMissing } = await programOf("polled-table", "rows.ts");
  const { pool, query, write, filed } = ordersTable();
  const handler = (): void => {
    throw new Error("no route");
  };
  const queue = createTestQueue({ topics: { "order-timeout": { handler, maxAttempts: 1 } } });
  const dueAt = new Date(queue.now().getTime() + 60_000);
  for (const id of ["17", "no key", "18"]) await write(id, dueAt);
  await write("without a time");
  await fileJob(queue.client, pool, "17");
  const dies = async (sql: string, values?: string[]) => {
    if (sql.includes("SET filed")) throw new Error("the process dies");
    return query(sql, values);
  };
  const dying = { ...pool, connect: async () => ({ ...(await pool.connect()), query: dies }) };
  await expect(fileJob(queue.client, dying, "18")).rejects.toThrow("dies");
  await queue.advance("1h");
  expect(filed()).toEqual(["17"]);
  const reported = vi.spyOn(console, "error").mockReturnValue();
  expect(await fileMissing(queue.client, pool)).toBe(2);
  expect(reported.mock.calls.map(([text]) => text)).toEqual(["order no key is not filed yet"]);
  reported.mockRestore();
  await queue.advance("1h");
  expect(filed()).toEqual(["17", "18"]);
  expect(queue.jobs().map(({ key, state }) => `${key} ${state}`)).toEqual(["order-17 dead", "order-18 dead"]);
});

test("a row that any poll runs while a table moves over is not run again, and a row that is filed is left to its job", async () => {
  const { fileJob, fileMissing } = await programOf("polled-table", "rows.ts");
  const { pool, query, write, change } = ordersTable();
  const select = inTablePage(/`(SELECT id FROM orders WHERE due_at [^`]*)`/);
  const ran: string[] = [];
  const handler = ({ body }: { body: { orderId: string } }) => void ran.push(`job of ${body.orderId}`);
  const queue = createTestQueue({ topics: { "order-timeout": { handler } } });
  const poll = async (sql: string): Promise<void> => {
    for (const { id } of (await query(sql, [queue.now().getTime()])).rows) {
      ran.push(`poll of ${id}`);
      await change(id, "closed = true");
    }
  };
  const [past, dueAt] = [new Date(0), new Date(queue.now().getTime() + 60_000)];
  for (const id of ["paid", "first", "filed", "waiting"]) await write(id, id === "first" ? past : dueAt);
  await change("paid", "paid = true");
  await poll(select.replace(" AND NOT filed", ""));
  await write("second", past);
  await fileJob(queue.client, pool, "filed");
  await poll(select);
  await fileMissing(queue.client, pool);
  await queue.advance("1h");
  await poll(select);
  await fileMissing(queue.client, pool);
  await queue.advance("1h");
  expect(ran).toEqual(["poll of first", "poll of second", "job of filed", "job of waiting"]);
});

test("a change of a row whose job runs leaves the row to the poll, and the job that runs closes no order", async () => {
  const { cancelJob, fileJob, handlerOf } = await programOf("polled-table", "rows.ts");
  const { pool, query, write, change, filed } = ordersTable();
  const closed = async () => (await query("SELECT id FROM orders WHERE closed")).rows.length;
  let meanwhile = async (): Promise<void> => {};
  const update = async (sql: string, values: string[]) => {
    await meanwhile();
    return query(sql, values);
  };
  const handler = handlerOf({ ...pool, query: update });
  const queue = createTestQueue({ topics: { "order-timeout": { handler } } });
  const dueIn = (minutes: number): number => queue.now().getTime() + minutes * 60_000;
  await write("17", new Date(dueIn(1)));
  await fileJob(queue.client, pool, "17");
  meanwhile = async () => {
    await change("17", "due_at = $2", dueIn(2));
    await fileJob(queue.client, pool, "17");
    await cancelJob(queue.client, "17"); // too late as well
  };
  await queue.advance("1m");
  expect([filed(), await closed()]).toEqual([[], 0]);
  meanwhile = async () => {};
  await fileJob(queue.client, pool, "17");
  await queue.advance("1h");
  expect(await closed()).toBe(1);
  await change("17", "closed = false, due_at = $2", dueIn(1));
  await fileJob(queue.client, pool, "17");
  await change("17", "paid = true");
  await cancelJob(queue.client, "17");
  expect(queue.jobs().map(({ state }) => state)).toEqual(["done", "done", "cancelled"]);
});

test("a change by hand of when, and of whether, a row must run counts at the next hourly poll", async () => {
  const { fileMissing, handlerOf } = await programOf("polled-table", "rows.ts");
  const { pool, query, write, change } = ordersTable();
  const queue = createTestQueue({ topics: { "order-timeout": { handler: handlerOf(pool) } } });
  const start = queue.now().getTime();
  const hour = (hours: number): number => start + hours * 3_600_000;
  const ids = ["later", "again", "unpaid", "reopened"];
  for (const id of ids) await write(id, new Date(hour(0.2)));
  const closed = async () => (await query("SELECT id FROM orders WHERE closed")).rows.map(({ id }) => id);
  await fileMissing(queue.client, pool);
  await change("later", "due_at = $2", hour(2));
  await change("again", "due_at = $2", hour(2));
  await change("again", "due_at = $2", hour(0.2));
  await change("unpaid", "paid = true");
  await queue.advance("1h");
  expect(await closed()).toEqual(["reopened"]);
  await change("unpaid", "paid = false");
  await change("reopened", "closed = false");
  await fileMissing(queue.client, pool);
  await queue.advance("1m");
  expect(await closed()).toEqual(["again", "unpaid", "reopened"]);
  await queue.advance("1h");
  expect(await closed()).toEqual(ids);
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
