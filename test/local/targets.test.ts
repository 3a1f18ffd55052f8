import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../local/embedded-stack.ts";
import { PATIENCE_MS } from "../patience.ts";
import { pythonTest } from "../support/python.ts";

const root = fileURLToPath(new URL("fixtures/targets/", import.meta.url));
const dataDir = mkdtempSync(join(tmpdir(), "minutehand-targets-"));
const lines: string[] = [];
let stack: EmbeddedStack;

beforeAll(async () => {
  stack = await startEmbeddedStack({
    ...{ port: 0, dataDir, memory: true, root, app: "node app.ts", oneShard: true },
    log: (line) => lines.push(line),
  });
});

afterAll(async () => {
  await stack.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

type Job = {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly lastError?: string;
};

async function file(topic: string, body: unknown, more: object = {}): Promise<string> {
  const request = { method: "POST", body: JSON.stringify({ topic, delay: 0, body, ...more }) };
  const response = await fetch(`${stack.url}/jobs`, request);
  return ((await response.json()) as Job).id;
}

const eventually = (look: () => Promise<void>) => vi.waitFor(look, { timeout: PATIENCE_MS, interval: 100 });

async function read(id: string): Promise<Job> {
  return (await fetch(`${stack.url}/jobs/${id}`)).json() as Promise<Job>;
}

pythonTest("a Python function runs a job, and is logged with its name", async () => {
  const id = await file("receipt", { orderId: "17", cents: 1250 });
  await eventually(async () => expect(await read(id)).toMatchObject({ state: "done", attempt: 1 }));
  // The line comes by another pipe than the answer, so it may come later.
  await eventually(async () =>
    expect(lines.join("\n")).toContain("receipt of order 17: 1250 cents, attempt 1"),
  );
});

pythonTest("a Python function asks for another run, buries a job, and fails", async () => {
  const [waiting, refunded, free] = await Promise.all([
    file("receipt", { orderId: "18", state: "unpaid" }),
    file("receipt", { orderId: "19", state: "refunded" }),
    file("receipt", { orderId: "20", cents: 0 }),
  ]);
  const lastError = "ValueError: an order must cost more than 0 cents, costs 0";
  await eventually(async () => {
    expect(await read(refunded)).toMatchObject({ state: "dead", lastError: "order 19 was refunded" });
    expect(await read(free)).toMatchObject({ state: "scheduled", attempt: 1, lastError });
    expect(await read(waiting)).toMatchObject({ state: "scheduled", attempt: 0, revision: 1 });
  });
});

test("an alias of a Node function runs a job again after it has failed, with all of the job's fields", async () => {
  const id = await file("copy", { name: "cat.png" }, { key: "cat", headers: { tenant: "7" } });
  await eventually(async () => {
    expect(await read(id)).toMatchObject({ state: "scheduled", attempt: 1, lastError: "TypeError: no disk" });
  });
  await fetch(`${stack.url}/jobs/${id}`, { method: "PATCH", body: '{"delay":0}' });
  await eventually(async () => expect(await read(id)).toMatchObject({ state: "done", attempt: 2 }));
  await eventually(async () => expect(lines.join("\n")).toMatch(/copied \{.*\}/));
  const [, copied = ""] = /copied (\{.*\})/.exec(lines.join("\n")) ?? [];
  expect(JSON.parse(copied)).toMatchObject({
    ...{ id, topic: "copy", key: "cat", attempt: 2, headers: { tenant: "7" } },
    body: { name: "cat.png" },
  });
});

test("the end of each attempt is put on the event bus, is shown in the log, and reaches the rules of the app", async () => {
  const id = await file("copy", { name: "dog.png" }, { key: "dog", tag: "pets" });
  await eventually(async () => expect(await read(id)).toMatchObject({ state: "scheduled", attempt: 1 }));
  await fetch(`${stack.url}/jobs/${id}`, { method: "PATCH", body: '{"delay":0}' });
  await eventually(async () => {
    const response = await fetch(`${stack.url}/topics/copied/jobs/dog`);
    expect(response.status).toBe(200);
    const { body } = (await response.json()) as { body: unknown };
    const times = { createdAt: expect.any(String), dueAt: expect.any(String), endedAt: expect.any(String) };
    const named = { id, topic: "copy", key: "dog", tag: "pets", attempt: 2 };
    expect(body).toEqual({ version: 1, ...named, ...times });
  });
  // The line of the log may come after the event.
  await eventually(async () => {
    for (const event of ["JobFailed", "JobCompleted"])
      expect(lines.join("\n")).toMatch(new RegExp(`copy  ${id}  notified event=${event}`));
  });
});
