import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, expect, test } from "vitest";
import { readRecord } from "../../local/runner-record.ts";
import { isAlive } from "./is-alive.ts";

const RUNNER = fileURLToPath(new URL("fixtures/run.ts", import.meta.url));

const folders: string[] = [];
const runners: ChildProcess[] = [];

afterEach(async () => {
  for (const runner of runners.splice(0)) if (runner.exitCode === null) runner.kill("SIGKILL");
  for (const folder of folders.splice(0))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-"));
  folders.push(folder);
  return folder;
}

type State = {
  url: string;
  sqs: string;
  pids: number[];
  functions: number[];
  emulators: { dynamodb: number; sqs: number };
  guard: number;
};

async function start(dataDir: string, port = 0) {
  const child = spawn(process.execPath, [RUNNER, dataDir, String(port)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  runners.push(child);
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => output.push(String(data)));
  const text = () => output.join("");
  let hasEnded = false;
  child.once("close", () => {
    hasEnded = true;
  });
  await expect.poll(() => hasEnded || text().includes("state ")).toBe(true);
  const state = (): State => {
    const line = text()
      .split("\n")
      .findLast((line) => line.startsWith("state "));
    if (line === undefined) throw new Error(`the runner did not start: ${text()}`);
    return JSON.parse(line.slice("state ".length));
  };
  return { child, text, state };
}

const alive = (pids: number[]) => pids.filter(isAlive);

test.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)("%s of the runner leaves no process", async (signal) => {
  const { child, state } = await start(newFolder());
  const { pids } = state();
  expect(alive(pids)).toEqual(pids);
  child.kill(signal);
  await expect.poll(() => alive(pids)).toEqual([]);
});

test("the record of a runner says what the runner does not play", async () => {
  const folder = newFolder();
  await start(folder);
  await expect
    .poll(() => readRecord(folder)?.warnings)
    .toContain("the local stack does not play AWS::Sundial::Gnomon; it is left out");
});

test("a runner killed with a function in a busy loop leaves no process", async () => {
  const { child, state, text } = await start(newFolder());
  const { pids, url } = state();
  void fetch(`${url}/spin`).catch(() => {});
  await expect.poll(text).toContain("spins");
  child.kill("SIGKILL");
  await expect.poll(() => alive(pids)).toEqual([]);
});

test("a hanging consumer does not delay the end of the runner", async () => {
  const { child, state, text } = await start(newFolder());
  const { pids, sqs } = state();
  const client = new SQSClient({
    region: "us-east-1",
    endpoint: sqs,
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
  });
  await client.send(
    new SendMessageCommand({ QueueUrl: `${sqs}/000000000000/demo-work`, MessageBody: "hang" }),
  );
  client.destroy();
  await expect.poll(text).toContain("hang  done");
  child.kill("SIGTERM");
  await expect.poll(() => alive(pids)).toEqual([]);
});

test.each(["dynamodb", "sqs"] as const)("a killed %s is restarted with its data", async (name) => {
  const { state, text } = await start(newFolder());
  const before = state().emulators[name];
  process.kill(before, "SIGKILL");
  await expect.poll(() => state().emulators[name]).not.toBe(before);
  await expect.poll(text).toMatch(/ended \(SIGKILL\); starting it again/);
});

test("a killed guard is replaced, and the new guard ends the old processes", async () => {
  const { child, state } = await start(newFolder());
  const { guard, emulators } = state();
  process.kill(guard, "SIGKILL");
  await expect.poll(() => state().guard).not.toBe(guard);
  child.kill("SIGKILL");
  await expect.poll(() => alive([emulators.dynamodb, emulators.sqs])).toEqual([]);
});

test("an emulator that outlived runner and guard is ended by the next start", async () => {
  const folder = newFolder();
  const { child, state } = await start(folder);
  const { guard, emulators } = state();
  process.kill(child.pid ?? 0, "SIGSTOP");
  process.kill(guard, "SIGKILL");
  child.kill("SIGKILL");
  await expect.poll(() => alive([guard])).toEqual([]);
  await start(folder);
  expect(alive([emulators.dynamodb])).toEqual([]);
});

test("a folder and a port can have only one runner", async () => {
  const folder = newFolder();
  const first = await start(folder);
  const second = await start(folder);
  expect(second.text()).toContain(
    `is in use by another local stack (process ${first.child.pid}, ${first.state().url})`,
  );
  const third = await start(newFolder(), Number(new URL(first.state().url).port));
  expect(third.text()).toMatch(/port \d+ of 127.0.0.1 is in use/);
});

test("the error names a broken database", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "dynamodb.sqlite"), "no database, by its looks");
  expect((await start(folder)).text()).toMatch(/dynamodb\.sqlite is broken; --reset drops all data/);
});

test("the error names a data folder that is a file", async () => {
  const file = join(newFolder(), "file");
  writeFileSync(file, "");
  expect((await start(file)).text()).toContain(`the data folder ${file} must be a folder, but is a file`);
});
