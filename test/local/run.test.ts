import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isAlive } from "./is-alive.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
/** A shell whose child process never ends. */
const APP =
  'node -e "fs.writeFileSync(\\"app.log\\", String(process.pid)); setInterval(() => {}, 1000)"; true';

let root: string;
let runner: ChildProcess;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-"));
});
afterEach(() => {
  runner?.kill("SIGKILL");
  rmSync(root, { recursive: true, maxRetries: 5, retryDelay: 100 });
});

function start(...options: string[]): { said: () => string } {
  runner = spawn(process.execPath, [MAIN, "local", "--port", "0", ...options], { cwd: root });
  let said = "";
  for (const stream of [runner.stdout, runner.stderr]) stream?.on("data", (data) => (said += data));
  return { said: () => said };
}

async function synthesising(): Promise<{ app: number; said: () => string }> {
  writeFileSync(join(root, "cdk.json"), JSON.stringify({ app: APP }));
  const { said } = start();
  const pid = join(root, "app.log");
  await expect.poll(() => existsSync(pid) && readFileSync(pid, "utf8") !== "").toBe(true);
  return { app: Number(readFileSync(pid, "utf8")), said };
}

test("Ctrl-C during a start ends the app and the runner, with exit code 0", async () => {
  const { app, said } = await synthesising();
  runner.kill("SIGINT");
  expect(await once(runner, "close")).toEqual([0, null]);
  expect(said()).toBe("Building the functions and synthesising the stack …\n");
  expect(isAlive(app)).toBe(false);
});

test("--app and --stack are used, and a failure is one line", async () => {
  const app = `node -e "fs.writeFileSync(process.env.CDK_OUTDIR + '/manifest.json', '{}')"`;
  const { said } = start("--stack", "Shop", "--app", app);
  expect(await once(runner, "close")).toEqual([1, null]);
  expect(said()).toContain('\nminutehand: --stack must name a stack of the app, got "Shop"; allowed: none\n');
});

test("a start in a folder without an app leaves no folder behind", async () => {
  const { said } = start();
  expect(await once(runner, "close")).toEqual([1, null]);
  expect(said()).toMatch(
    /^minutehand: there is neither cdk\.json nor minutehand\.json in .*"npx minutehand init --template"/,
  );
  expect(readdirSync(root)).toEqual([]);
});

test("a folder with minutehand.json and no cdk.json needs no --app", async () => {
  const bin = join(root, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "minutehand"), '#!/bin/sh\necho "Error: ran $1"\nexit 3\n', { mode: 0o755 });
  writeFileSync(join(root, "minutehand.json"), "{}");
  const { said } = start();
  expect(await once(runner, "close")).toEqual([1, null]);
  expect(said()).toContain(
    "minutehand: synthesising failed: `minutehand template` ended with 3: Error: ran template\n",
  );
});

test("--config names another file than minutehand.json", async () => {
  const bin = join(root, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "minutehand"), '#!/bin/sh\necho "Error: ran $1 $2 $3"\nexit 3\n', { mode: 0o755 });
  const { said } = start("--config", "my local.json");
  expect(await once(runner, "close")).toEqual([1, null]);
  expect(said()).toContain("Error: ran template --config my local.json\n");
});

test("--config and --app together are refused", async () => {
  const { said } = start("--config", "local.json", "--app", "node app.ts");
  expect(await once(runner, "close")).toEqual([2, null]);
  expect(said()).toContain("minutehand: local takes either --app or --config, got both");
});

test("--debug prints the stack trace of a failure that the user can fix", async () => {
  const { said } = start("--debug");
  expect(await once(runner, "close")).toEqual([1, null]);
  expect(said()).toMatch(
    /^minutehand: LocalError: there is neither cdk\.json nor minutehand\.json in .*\n +at /,
  );
});
