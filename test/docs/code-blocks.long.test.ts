import { spawnSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
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
