import { spawnSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createTestQueue } from "../../src/testing/test-queue.ts";
import { createApi } from "../support/api.ts";
import { fetchApp } from "../support/fetch-app.ts";
import { createWorld } from "../support/world.ts";
import { type Block, blocks, fileOf, nameOf, ROOT } from "./blocks.ts";

/** Where the blocks become files: inside the repository, so that they find the package by its name. */
const FOLDER = join(ROOT, "dist", "docs-blocks");

const TSC = join(ROOT, "node_modules", ".bin", "tsc");

type Written = {
  readonly name: string;
  readonly folder: string;
  readonly path: string;
  readonly isTest: boolean;
};

/** Writes a block to a file in its page's folder, beside the stand-ins for modules that the page does not show. */
function write(block: Block): Written {
  const folder = join(FOLDER, block.page.replaceAll(/[/.]/g, "-"));
  const path = join(folder, fileOf(block) ?? `line-${block.line}.ts`);
  cpSync(join(import.meta.dirname, "stand-ins"), dirname(path), { recursive: true });
  writeFileSync(path, block.text);
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
  });
}

test("a delayed job of BullMQ is copied to the time of its score, and is cancelled by its old id", async () => {
  const folder = join(FOLDER, "docs-guides-coming-from-md");
  const { copy } = await import(join(folder, "copy.ts"));
  const { orderPaid } = await import(join(folder, "orders.ts"));
  const queue = createTestQueue({ topics: { "order-timeout": { handler: () => {} } } });
  const due = queue.now().getTime() + 3_600_000;
  const ids = ["order-17", "order-18", "order-19", "repeat:daily:1"];
  // BullMQ adds a counter to the scores of jobs that are due in the same millisecond.
  const scores = ids.flatMap((id, count) => [id, String(due * 4096 + count)]);
  const redis = {
    zrange: async (...call: unknown[]) => {
      expect(call).toEqual(["bull:order-timeout:delayed", 0, -1, "WITHSCORES"]);
      return scores;
    },
    // The job order-19 was removed after the first call.
    hget: async (key: string, field: string) => {
      const id = key.replace(/^bull:order-timeout:/, "");
      return id === "order-19" || field !== "data" ? null : JSON.stringify({ orderId: id.slice(-2) });
    },
  };
  await copy(redis, queue.client);
  await copy(redis, queue.client);
  const copied = queue.jobs().map(({ key, body, dueAt }) => ({ key, body, dueAt: Date.parse(dueAt) }));
  expect(copied).toEqual(
    ["17", "18"].map((orderId) => ({ key: `order-${orderId}`, body: { orderId }, dueAt: due })),
  );
  expect(await orderPaid(queue.client, "17")).toBe(true);
  await queue.advance("1h");
  expect(queue.jobs().map(({ state }) => state)).toEqual(["cancelled", "done"]);
});
