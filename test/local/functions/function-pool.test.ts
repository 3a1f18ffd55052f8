import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import type { Outcome } from "../../../local/functions/execution-environment.ts";
import {
  createFunctionPool,
  type FunctionPool,
  mostEnvironments,
} from "../../../local/functions/function-pool.ts";
import { startGuard } from "../../../local/processes/guard.ts";
import { createClock } from "../../../local/services/clock.ts";
import type { FunctionSpec } from "../../../local/template/resources.ts";
import { HANG_MS } from "../../patience.ts";

const guard = startGuard();
const lines: string[] = [];
const times: number[] = [];
const host = {
  clock: createClock(),
  guard,
  variables: {},
  onLine: (_id: string, line: string, _dir: string, writtenAt: number) => {
    lines.push(line);
    times.push(writtenAt);
  },
};
const spec: FunctionSpec = {
  logicalId: "Echo",
  name: "echo",
  arn: "arn:aws:lambda:us-east-1:0:function:echo",
  handler: "index.handler",
  codeDir: fileURLToPath(new URL("../fixtures/app/functions/echo", import.meta.url)),
  codeHash: "echo",
  timeoutMs: HANG_MS,
  memoryMb: 128,
  environment: { GREETING: "hi" },
  reservedConcurrency: undefined,
};

let pool: FunctionPool;
const open = (changes: Partial<FunctionSpec> = {}) => {
  pool = createFunctionPool({ ...spec, ...changes }, host);
  return pool;
};
const call = (path: string) => pool.invoke({ rawPath: path });
const result = (outcome: Outcome) => (outcome.outcome === "returned" ? JSON.parse(outcome.payload) : outcome);
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

afterEach(() => pool.stop(0));
afterAll(() => guard.stop());

test("an environment is reused, knows its function and its deadline", async () => {
  open();
  const [first, second] = [result(await call("/")), result(await call("/"))];
  expect(second).toMatchObject({ pid: first.pid, count: 2, functionName: "echo", arn: spec.arn });
  expect(second.environment.greeting).toBe("hi");
  expect(second.remaining).toBeGreaterThan(0);
  expect(second.remaining).toBeLessThanOrEqual(spec.timeoutMs);
});

test.each(["before the function begins", "while the function runs"])(
  "a function learns that its caller has hung up: %s",
  async (when) => {
    open();
    const caller = new AbortController();
    if (when.startsWith("before")) caller.abort();
    lines.length = 0;
    const called = pool.invoke({ rawPath: "/hang-up" }, caller.signal);
    if (!caller.signal.aborted) {
      await expect.poll(() => lines.join(), { timeout: HANG_MS }).toContain("waits for its caller");
      caller.abort();
    }
    expect(result(await called)).toEqual({ statusCode: 200, body: "gone" });
    expect(result(await pool.invoke({ rawPath: "/" })).count).toBe(2);
  },
);

test("concurrent invocations run in separate processes", async () => {
  open();
  const folder = mkdtempSync(join(tmpdir(), "minutehand-meet-"));
  try {
    const meet = () => pool.invoke({ rawPath: "/meet", folder });
    const pids = (await Promise.all([meet(), meet()])).map((outcome) => result(outcome).pid);
    expect(pids).toEqual([expect.any(Number), expect.any(Number)]);
    expect(new Set(pids).size).toBe(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("lines of stdout and stderr keep their order and the times at which they were written", async () => {
  open();
  lines.length = 0;
  times.length = 0;
  const begun = Date.now();
  await call("/say");
  const numbered = Array.from({ length: 100 }, (_, i) => `line ${i}`);
  await expect.poll(() => lines).toEqual([...numbered, "begun", "of stderr", "two", "lines €"]);
  expect(times).toEqual(times.toSorted());
  expect(times[0]).toBeGreaterThanOrEqual(begun);
  // The runner reads the lines later than the function has written them.
  expect(times.at(-1)).toBeLessThanOrEqual(Date.now());
});

test("reserved concurrency makes invocations wait", async () => {
  open({ reservedConcurrency: 1 });
  const pids = (await Promise.all([call("/wait"), call("/wait")])).map((outcome) => result(outcome).pid);
  expect(new Set(pids).size).toBe(1);
});

test.each(["/hang", "/spin"])("%s ends at the timeout, and the process with it", async (path) => {
  open({ timeoutMs: 5000 });
  const { pid } = result(await call("/"));
  const outcome = await call(path);
  expect(outcome).toMatchObject({ outcome: "timed-out", error: { errorType: "Sandbox.Timedout" } });
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect(result(await call("/")).count).toBe(1);
});

test("if a process ends, its invocation fails and the next invocation gets a new process", async () => {
  open();
  const { pid } = result(await call("/"));
  expect(await call("/exit")).toMatchObject({ outcome: "crashed" });
  expect(result(await call("/")).pid).not.toBe(pid);
});

test.each([
  ["/throw-later", "thrown by a timer"],
  ["/reject-later", "rejected by a promise"],
])("an error that nothing catches ends the process and is told with its stack: %s", async (path, text) => {
  open();
  const outcome = await call(path);
  expect(outcome).toMatchObject({
    outcome: "crashed",
    error: {
      errorMessage: `an error that nothing caught ended the process: ${text}`,
      thrown: { message: text },
    },
  });
  expect(JSON.stringify(outcome)).toMatch(/echo\/index\.m?js:\d+/);
});

test("an error that nothing catches between two runs is logged, and the next run gets a new process", async () => {
  open();
  const { pid } = result(await call("/"));
  await call("/throw-when-idle");
  await expect.poll(() => lines.join("\n")).toContain("ended the process: thrown after the run");
  expect(lines.join("\n")).not.toContain("throw new TypeError");
  expect(result(await call("/")).pid).not.toBe(pid);
});

test("if a process is killed, its invocation fails; a killed idle process is replaced", async () => {
  open();
  const { pid } = result(await call("/"));
  const hanging = call("/hang");
  process.kill(pid, "SIGKILL");
  expect(await hanging).toMatchObject({ outcome: "crashed" });
  const next = result(await call("/"));
  process.kill(next.pid, "SIGKILL");
  await expect.poll(() => isAlive(next.pid)).toBe(false);
  expect(result(await call("/")).count).toBe(1);
});

test("after a replacement running invocations end with the old code, and new ones run the new code", async () => {
  open();
  const idle = result(await call("/"));
  const running = call("/wait");
  await expect.poll(() => pool.pids()).toHaveLength(1);
  pool.replace({ ...spec, environment: { GREETING: "hello" } });
  const after = result(await call("/"));
  expect(after.environment.greeting).toBe("hello");
  expect(after.pid).not.toBe(idle.pid);
  expect(result(await running).environment.greeting).toBe("hi");
  await expect.poll(() => pool.pids()).toEqual([after.pid]);
  expect(pool.spec.environment).toEqual({ GREETING: "hello" });
  pool.replace(spec);
  expect(result(await call("/")).environment.greeting).toBe("hi");
});

test("an invocation that waits during a replacement runs the new code", async () => {
  open({ reservedConcurrency: 1 });
  const [running, waiting] = [call("/wait"), call("/")];
  await expect.poll(() => pool.pids()).toHaveLength(1);
  pool.replace({ ...spec, reservedConcurrency: 1, environment: { GREETING: "hello" } });
  expect(result(await running).environment.greeting).toBe("hi");
  expect(result(await waiting).environment.greeting).toBe("hello");
});

test("a thrown error is reported and the process stays", async () => {
  open();
  const { pid } = result(await call("/"));
  expect(await call("/throw")).toEqual({
    outcome: "threw",
    error: {
      errorType: "TypeError",
      errorMessage: "as asked",
      thrown: {
        message: "as asked",
        stack: expect.stringMatching(/^TypeError: as asked\n +at .*index\.mjs:\d+/),
      },
    },
  });
  expect(result(await call("/")).pid).toBe(pid);
});

test("code that cannot be loaded fails the invocation", async () => {
  open({ handler: "index.nobody" });
  expect(await call("/")).toMatchObject({ outcome: "crashed", error: { errorType: "Runtime.InitError" } });
  expect(lines.at(-1)).toMatch(/could not start.*nobody/);
});

test("new code that cannot be loaded is reported before anything invokes it", async () => {
  open();
  await call("/");
  lines.length = 0;
  pool.replace({ ...spec, handler: "index.nobody" });
  await expect
    .poll(() => lines, { timeout: HANG_MS })
    .toEqual([expect.stringMatching(/could not start.*nobody/)]);
});

test("a stop logs no error of a process that starts, whose code is deleted meanwhile", async () => {
  const started = Promise.withResolvers<ChildProcess>();
  const watch = (child: ChildProcess) => {
    guard.watch(child);
    started.resolve(child);
  };
  lines.length = 0;
  pool = createFunctionPool(
    { ...spec, codeDir: import.meta.dirname },
    { ...host, guard: { ...guard, watch } },
  );
  pool.warm();
  await pool.stop(0);
  await once(await started.promise, "close");
  await setImmediate();
  expect(lines).toEqual([]);
});

test("events and answers above 6 MB are rejected", async () => {
  open();
  expect(await pool.invoke("x".repeat(7 * 1024 * 1024))).toMatchObject({ outcome: "too-large" });
  expect(await call("/huge")).toMatchObject({ outcome: "threw" });
});

test("stopping ends running invocations and rejects new ones", async () => {
  open();
  const { pid } = result(await call("/"));
  const hanging = call("/hang");
  await pool.stop(50);
  expect(await hanging).toMatchObject({ outcome: "crashed" });
  expect(await call("/")).toMatchObject({ outcome: "crashed" });
  expect(isAlive(pid)).toBe(false);
});

test.each([
  [1, 0.5, 4],
  [2, 4, 4],
  [2, 8, 6],
  [8, 16, 12],
  [2, 64, 16],
  [16, 256, 40],
])("a machine of %i cores and %f GiB lets a function have %i processes", (cores, gib, most) => {
  expect(mostEnvironments({ cores, memory: gib * 1024 ** 3 })).toBe(most);
});
