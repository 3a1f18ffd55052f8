import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import type { CarriedAction } from "../../console/carried.ts";
import { createClient } from "../../src/client/client.ts";
import { PATIENCE_MS } from "../patience.ts";
import { here } from "./here.ts";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "./running-stack.ts";

const dataDir = freshDataDir();
let stack: RunningStack;
afterAll(async () => {
  await stack?.kill("SIGTERM");
  removeDataDir(dataDir);
});

const DAY = { from: "2031-01-01T00:00:00.000Z", to: "2031-01-02T00:00:00.000Z" };
/** Three parts of a bulk. */
const JOBS = 1500;
const BATCH = 300;
const { skip, title } = here(
  "local-commands",
  "Ctrl-C of the local stack stops the actions of its console, and prints the commands that do the rest",
);

test.skipIf(skip)(title, async () => {
  stack = await startStack(dataDir);
  const { url } = stack;
  const api = createClient({ url });
  for (let filed = 0; filed < JOBS; filed += BATCH)
    await api.enqueueMany(
      Array.from({ length: BATCH }, () => ({
        topic: "work",
        body: {},
        dueAt: "2031-01-01T09:00:00Z",
        tag: "sale",
      })),
    );
  const which = { topic: "work", tag: "sale", ...DAY };
  const plan = { change: { action: "cancel" }, lines: [{ which, counted: JOBS }] };
  const actions = async (init?: RequestInit) => (await fetch(`${url}/console/actions`, init)).json();
  const started = (await actions({ method: "POST", body: JSON.stringify(plan) })) as CarriedAction;
  expect(started.state).toBe("running");
  await stack.kill("SIGINT");
  const [, printed = ""] =
    /^the console was changing jobs of work \(cancel\): (?:500|1000) jobs of 1500 changed; to continue, run: (minutehand .*)$/m.exec(
      stack.output(),
    ) ?? [];
  expect(printed).toContain(` --url ${url} `);
  stack = await startStack(dataDir, Number(new URL(url).port));
  const [, ...words] = printed.split(" ");
  await promisify(execFile)(process.execPath, ["src/cli/main.ts", ...words, "--yes"]);
  const left = async () => {
    let count = 0;
    for await (const _ of api.list({ tag: "sale", state: "scheduled", ...DAY })) count++;
    return count;
  };
  await expect.poll(left, { timeout: PATIENCE_MS }).toBe(0);
});
