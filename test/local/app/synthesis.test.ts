import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { createSynthesis } from "../../../local/app/synthesis.ts";
import { LocalError } from "../../../local/local-error.ts";
import { startGuard } from "../../../local/processes/guard.ts";
import { isAlive } from "../is-alive.ts";

let guard = startGuard();
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-"));
  mkdirSync(join(root, "infra"));
});
afterEach(() => rmSync(root, { recursive: true }));
afterAll(() => guard.stop());

const app = (command: string, source = "") => {
  writeFileSync(join(root, "cdk.json"), JSON.stringify({ app: command }));
  writeFileSync(join(root, "infra/app.cjs"), source);
};
const create = (command?: string, signal = new AbortController().signal) =>
  createSynthesis({ root, app: command, guard, signal });
const run = (...options: Parameters<typeof create>) => create(...options).run();

const WRITES = 'require("node:fs").writeFileSync(process.env.CDK_OUTDIR + "/manifest.json", "{}");';

const names = (paths: readonly string[]) => paths.map((path) => relative(realpathSync(root), path));
async function inputsOf(source: string, command = "node infra/app.cjs"): Promise<string[]> {
  app(command, source);
  const synthesis = create();
  await synthesis.run().catch(() => {});
  return names(synthesis.inputs());
}
const SETTINGS = ["cdk.json", "cdk.context.json", "tsconfig.json"];

test("the inputs are the files that the app imports, also elsewhere, and the settings of the CDK", async () => {
  const elsewhere = join(root, "../common.cjs");
  writeFileSync(elsewhere, "");
  try {
    const inputs = await inputsOf(`require(${JSON.stringify(elsewhere)}); ${WRITES}`);
    expect(inputs).toEqual([...SETTINGS, "infra/app.cjs", "../common.cjs"]);
  } finally {
    rmSync(elsewhere);
  }
});

test("a file of the folder that the app reads is an input, and packages and build output are none", async () => {
  const read = ["topics.json", ".env", "dist/built.json", "node_modules/x/x.json", ".cache/x.json"];
  for (const path of read) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "{}");
  }
  const reads = `for (const path of ${JSON.stringify(read)}) require("fs").readFileSync(path);`;
  expect(await inputsOf(reads + WRITES)).toEqual([...SETTINGS, "infra/app.cjs", "topics.json", ".env"]);
});

test("the inputs of ES modules are found too, also those of TypeScript", async () => {
  writeFileSync(join(root, "topics.mts"), "export const topics: string[] = [];");
  writeFileSync(join(root, "limits.txt"), "10");
  writeFileSync(
    join(root, "app.mts"),
    `import { readFileSync, writeFileSync } from "node:fs"; import "./topics.mts";
    readFileSync(new URL("limits.txt", import.meta.url)); ${WRITES.replace('require("node:fs").', "")}`,
  );
  expect(await inputsOf("", "node app.mts")).toEqual([...SETTINGS, "app.mts", "topics.mts", "limits.txt"]);
});

test("the places at which an import found no file are inputs of an app that fails", async () => {
  expect(await inputsOf('require("./topics.js");')).toEqual(
    expect.arrayContaining(["infra/app.cjs", "infra/topics.js", "infra/topics.ts"]),
  );
});

test("each run has an assembly of its own, and the end of the runner deletes them", async () => {
  app("node infra/app.cjs", WRITES);
  const synthesis = create();
  const [first, second] = [await synthesis.run(), await synthesis.run()];
  expect(second).not.toBe(first);
  expect([first, second].map((path) => existsSync(join(path, "manifest.json")))).toEqual([true, true]);
  await synthesis.stop();
  expect(readdirSync(join(root, ".minutehand/synthesised"))).toEqual([]);
});

test("code is deleted an hour after it was last used", async () => {
  app("node infra/app.cjs", WRITES);
  const synthesis = create();
  const [first, second] = [await synthesis.run(), await synthesis.run()];
  const HOUR_MS = 3_600_000;
  synthesis.dropUnused([join(first, "asset")], 0);
  synthesis.dropUnused([join(second, "asset")], HOUR_MS);
  expect(existsSync(first)).toBe(true);
  synthesis.dropUnused([join(second, "asset")], 2 * HOUR_MS + 1);
  expect([first, second].map((path) => existsSync(path))).toEqual([false, true]);
});

test("a start deletes the code of runners that are gone, and leaves that of others", async () => {
  app("node infra/app.cjs", WRITES);
  const { pid } = spawnSync(process.execPath, ["--version"]);
  const other = await create().run();
  const gone = join(root, ".minutehand/synthesised", `${pid}.1`);
  mkdirSync(gone);
  await create().run();
  expect([existsSync(gone), existsSync(other)]).toEqual([false, true]);
});

test("--app runs instead of cdk.json's command", async () => {
  app("false");
  writeFileSync(join(root, "other.cjs"), WRITES);
  expect(existsSync(join(await run("node other.cjs"), "manifest.json"))).toBe(true);
});

test("--app needs no cdk.json, and gets its context", async () => {
  const context = "process.env.CDK_CONTEXT_JSON";
  writeFileSync(join(root, "app.cjs"), WRITES.replace('"{}"', context));
  expect(readFileSync(join(await run("node app.cjs"), "manifest.json"), "utf8")).toBe("{}");
  // Editors on Windows write a byte order mark.
  writeFileSync(join(root, "cdk.json"), `\uFEFF${JSON.stringify({ app: "false", context: { shop: "1" } })}`);
  expect(readFileSync(join(await run("node app.cjs"), "manifest.json"), "utf8")).toBe('{"shop":"1"}');
});

test("the error names a cdk.json that is not JSON", async () => {
  writeFileSync(join(root, "cdk.json"), "{");
  await expect(run()).rejects.toThrow(/cdk\.json must be JSON: .+/);
});

test("a failing app is quoted in one line", async () => {
  app("node infra/app.cjs", 'throw new RangeError("topic must not be empty");');
  await expect(run()).rejects.toThrow(
    /^synthesising failed: `node infra\/app.cjs` ended with 1: RangeError: topic must not be empty$/,
  );
});

/** An app whose command first runs a compiler that finds these errors. */
function compiledApp(errors: readonly string[]): void {
  app(
    "node infra/app.cjs && node bin/shop.ts",
    `console.log(${JSON.stringify(errors.join("\n"))}); process.exitCode = 2;`,
  );
}

test("all errors of a compiler that runs before the app are printed, first those of the saved file", async () => {
  const [draft, unit, stack] = [
    "draft.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.",
    "test/shop.test.ts(3,7): error TS2304: Cannot find name 'shop'.",
    "lib/shop-stack.ts(9,1): error TS1005: ';' expected.",
  ];
  compiledApp([draft, "  Type of a line that continues.", unit, stack]);
  const failed = "synthesising failed: `node infra/app.cjs && node bin/shop.ts` ended with 2: 3 type errors";
  const ofRun = (saved: readonly string[]) => create().run(new Set(saved.map((path) => join(root, path))));
  await expect(ofRun([])).rejects.toThrow(new LocalError([failed, draft, unit, stack].join("\n  ")));
  await expect(ofRun(["lib/shop-stack.ts"])).rejects.toThrow(
    new LocalError([failed, stack, draft, unit].join("\n  ")),
  );
});

test("one error of a compiler stays in the line of the failure", async () => {
  compiledApp(["draft.ts(1,14): error TS2304: Cannot find name 'shop'."]);
  await expect(run()).rejects.toThrow(
    / ended with 2: draft\.ts\(1,14\): error TS2304: Cannot find name 'shop'\.$/,
  );
});

test("of many errors of a compiler 20 are printed, and the number of the others", async () => {
  compiledApp(
    Array.from({ length: 25 }, (_, line) => `draft.ts(${line + 1},1): error TS1005: ';' expected.`),
  );
  const failed = await run().catch((error: Error) => error.message);
  expect(failed).toContain(": 25 type errors\n  draft.ts(1,1): ");
  expect(failed).toMatch(/\n {2}draft\.ts\(20,1\): error TS1005: ';' expected\.\n {2}and 5 more$/);
});

test("each of several reasons gets a line, and a single one stays in the line of the failure", async () => {
  const thrown = (text: string) => app("node infra/app.cjs", `throw new Error(${JSON.stringify(text)});`);
  thrown("Jobs has invalid props:\n  ttr is 0\n  shards is 0");
  await expect(run()).rejects.toThrow(/: Error: Jobs has invalid props:\n {2}ttr is 0\n {2}shards is 0$/);
  thrown("Jobs has invalid props:\n  ttr is 0");
  await expect(run()).rejects.toThrow(/: Error: Jobs has invalid props: ttr is 0$/);
});

test("each fault of a minutehand.json gets a line", async () => {
  writeFileSync(
    join(root, "minutehand.json"),
    JSON.stringify({ topics: { a: { consumer: "pull", maxAttempts: 0, maxPerSecond: 5000 } }, shards: 0 }),
  );
  await expect(run(`node ${join(import.meta.dirname, "../../../src/cli/main.ts")} template`)).rejects.toThrow(
    /: minutehand: minutehand.json is invalid:\n {2}shards must be .*\n {2}topics\.a\.maxAttempts must be .*\n {2}topics\.a\.maxPerSecond must be .*$/,
  );
});

test("the error names an app that writes no manifest.json", async () => {
  app("node infra/app.cjs");
  await expect(run()).rejects.toThrow(/wrote no manifest\.json/);
});

test("the error of an ES module in a CommonJS package says what to run", async () => {
  app("node infra/app.cjs", 'import { App } from "aws-cdk-lib";');
  await expect(run()).rejects.toThrow(/package\.json says .* CommonJS: run "npm pkg set type=module"$/);
});

test("the error names the missing files, and --app", async () => {
  await expect(run()).rejects.toThrow(/neither cdk\.json nor .* or name the app with --app/);
});

/** A shell whose child process never ends, and writes its process id into a file. */
function hangingApp(): void {
  app(
    "node infra/app.cjs; true",
    'require("node:fs").writeFileSync("pid.log", String(process.pid)); setInterval(() => {}, 1000);',
  );
}
/** Resolves with the process id of that child once it runs. */
async function childPid(): Promise<number> {
  const file = join(root, "pid.log");
  const pid = () => (existsSync(file) ? Number(readFileSync(file, "utf8")) : 0);
  await expect.poll(pid, { interval: 5 }).toBeGreaterThan(0);
  return pid();
}

test("an aborted app leaves neither a process nor a folder", async () => {
  hangingApp();
  const stopping = new AbortController();
  const synthesis = create(undefined, stopping.signal);
  const called = expect(synthesis.run()).rejects.toThrow(/aborted/);
  const pid = await childPid();
  stopping.abort();
  await called;
  await expect.poll(() => isAlive(pid), { interval: 5 }).toBe(false);
  await synthesis.stop();
  expect(readdirSync(join(root, ".minutehand/synthesised"))).toEqual([]);
});

test("an app that has ended can be aborted while a process it has left keeps its output open", async () => {
  app(
    "echo $$ > leader.log; node infra/app.cjs",
    `const left = require("node:child_process").spawn("sleep", ["60"], { detached: true, stdio: "inherit" });
    left.unref();
    require("node:fs").writeFileSync("pid.log", String(left.pid));`,
  );
  const stopping = new AbortController();
  const called = expect(run(undefined, stopping.signal)).rejects.toThrow(/aborted/);
  const left = await childPid();
  try {
    const leader = readFileSync(join(root, "leader.log"), "utf8").trim();
    // A zombie still has its folder in /proc.
    await expect.poll(() => existsSync(join("/proc", leader)), { interval: 5 }).toBe(false);
    stopping.abort();
    await called;
  } finally {
    process.kill(left);
  }
});

test("an app and its child processes end with the runner", async () => {
  hangingApp();
  const others = guard;
  guard = startGuard();
  const called = expect(run()).rejects.toThrow(/ended with SIGKILL/);
  const pid = await childPid();
  // The same happens when the runner is gone.
  guard.stop();
  guard = others;
  await called;
  await expect.poll(() => isAlive(pid), { interval: 5 }).toBe(false);
});

test("the error names the signal that killed an app", async () => {
  app("kill -9 $$");
  await expect(run()).rejects.toThrow("`kill -9 $$` ended with SIGKILL: it printed nothing");
});
