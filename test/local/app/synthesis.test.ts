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
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { readInputs } from "../../../local/app/inputs.ts";
import { createSynthesis } from "../../../local/app/synthesis.ts";
import { startGuard } from "../../../local/processes/guard.ts";
import { isAlive } from "../is-alive.ts";

let guard = startGuard();
let root: string;
let told: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-"));
  mkdirSync(join(root, "infra"));
  told = [];
});
afterEach(() => rmSync(root, { recursive: true }));
afterAll(() => guard.stop());

const app = (command: string, source = "") => {
  writeFileSync(join(root, "cdk.json"), JSON.stringify({ app: command }));
  writeFileSync(join(root, "infra/app.cjs"), source);
};
const run = (command?: string, signal = new AbortController().signal) => {
  const synthesis = createSynthesis({ appFolder: { root }, app: command, guard, signal });
  return synthesis.run((line) => told.push(line));
};

const WRITES = 'require("node:fs").writeFileSync(process.env.CDK_OUTDIR + "/manifest.json", "{}");';

test("the app runs again only when its inputs have changed", async () => {
  app("node infra/app.cjs", WRITES);
  const first = await run();
  expect(existsSync(join(first, "manifest.json"))).toBe(true);
  expect(await run()).toBe(first);
  expect(told).toHaveLength(1);
  app("node infra/app.cjs", `${WRITES} // changed`);
  expect(await run()).not.toBe(first);
  expect(told).toHaveLength(2);
});

test("all files of the folder are inputs, except build output and logs", async () => {
  app("node infra/app.cjs", WRITES);
  const first = await run();
  for (const made of ["node_modules/x", "infra/cdk.out", "dist", ".git"]) {
    mkdirSync(join(root, made), { recursive: true });
    writeFileSync(join(root, made, "file"), made);
  }
  writeFileSync(join(root, "local.log"), "done in attempt 1");
  expect(await run()).toBe(first);
  mkdirSync(join(root, "handlers"));
  writeFileSync(join(root, "handlers", "mail.ts"), "");
  expect(await run()).not.toBe(first);
});

test("an assembly with a file that was saved during its run is not cached for the old files", async () => {
  const handler = join(root, "handler.txt");
  writeFileSync(handler, "before");
  // The app saves a file during its first run.
  app(
    "node infra/app.cjs",
    `const fs = require("node:fs");
    if (!fs.existsSync("node_modules")) {
      fs.mkdirSync("node_modules");
      fs.writeFileSync("handler.txt", "saved");
    }
    const made = JSON.stringify(fs.readFileSync("handler.txt", "utf8"));
    fs.writeFileSync(process.env.CDK_OUTDIR + "/manifest.json", made);`,
  );
  const made = async () => readFileSync(join(await run(), "manifest.json"), "utf8");
  expect(await made()).toBe('"saved"');
  writeFileSync(handler, "before");
  expect(await made()).toBe('"before"');
});

test.each([
  ["a file of the app", () => join(root, "handler.cjs")],
  ["a file elsewhere", () => join(root, "../handler.cjs")],
])("a save of %s that is undone while the app runs is not cached", async (_, file) => {
  const workspace = root;
  try {
    root = join(workspace, "shop");
    mkdirSync(join(root, "infra"), { recursive: true });
    const handler = file();
    writeFileSync(handler, "module.exports = 1;");
    // During its first run the app saves the file, and puts the old text and its time back.
    app(
      "node infra/app.cjs",
      `const fs = require("node:fs");
      const handler = ${JSON.stringify(handler)};
      const isFirst = !fs.existsSync("node_modules");
      const { mtime } = fs.statSync(handler);
      if (isFirst) {
        fs.mkdirSync("node_modules");
        fs.writeFileSync(handler, "module.exports = 2;");
      }
      fs.writeFileSync(process.env.CDK_OUTDIR + "/manifest.json", String(require(handler)));
      if (isFirst) {
        fs.writeFileSync(handler, "module.exports = 1;");
        fs.utimesSync(handler, mtime, mtime);
      }`,
    );
    const made = async () => readFileSync(join(await run(), "manifest.json"), "utf8");
    expect(await made()).toBe("2");
    expect(await made()).toBe("1");
    expect(await made()).toBe("1");
    expect(told).toHaveLength(2);
  } finally {
    root = workspace;
  }
});

test("a file elsewhere that the app imports is an input too, and the imports are recorded", async () => {
  const elsewhere = mkdtempSync(join(tmpdir(), "minutehand-elsewhere-"));
  try {
    const common = join(realpathSync(elsewhere), "common.cjs");
    writeFileSync(common, "");
    app("node infra/app.cjs", `require(${JSON.stringify(common)}); ${WRITES}`);
    const first = await run();
    expect(readInputs(first)).toEqual({
      imports: [common, join(realpathSync(root), "infra/app.cjs")].sort(),
      isCurrent: true,
    });
    expect(await run()).toBe(first);
    writeFileSync(common, "// changed");
    expect(await run()).not.toBe(first);
    writeFileSync(common, "");
    expect(await run()).toBe(first);
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

test("an install above the app's folder, as in a workspace, changes the inputs", async () => {
  const workspace = root;
  try {
    root = join(workspace, "apps/shop");
    mkdirSync(join(root, "infra"), { recursive: true });
    mkdirSync(join(workspace, "node_modules"));
    const install = (version: string) =>
      writeFileSync(join(workspace, "node_modules/.package-lock.json"), version);
    install("1");
    app("node infra/app.cjs", WRITES);
    const first = await run();
    expect(await run()).toBe(first);
    install("2");
    expect(await run()).not.toBe(first);
    install("1");
    expect(await run()).toBe(first);
  } finally {
    root = workspace;
  }
});

test("the imports of an ES module are recorded, also those of a TypeScript file", async () => {
  writeFileSync(join(root, "topics.mts"), "export const topics: string[] = [];");
  writeFileSync(
    join(root, "app.mts"),
    `import fs from "node:fs"; import "./topics.mts"; ${WRITES.replace('require("node:fs")', "fs")}`,
  );
  app("node app.mts");
  expect(readInputs(await run())?.imports).toEqual(
    ["app.mts", "topics.mts"].map((name) => join(realpathSync(root), name)),
  );
});

test("--app runs each time instead of cdk.json's command, and an equal assembly has the same folder", async () => {
  app("false");
  writeFileSync(join(root, "other.cjs"), WRITES);
  const first = await run("node other.cjs");
  expect(await run("node other.cjs")).toBe(first);
  expect(told).toHaveLength(2);
  writeFileSync(join(root, "other.cjs"), WRITES.replace("{}", "[]"));
  expect(await run("node other.cjs")).not.toBe(first);
});

test("--app needs no cdk.json, and gets its context", async () => {
  const context = "process.env.CDK_CONTEXT_JSON";
  writeFileSync(join(root, "app.cjs"), WRITES.replace('"{}"', context));
  expect(readFileSync(join(await run("node app.cjs"), "manifest.json"), "utf8")).toBe("{}");
  writeFileSync(join(root, "cdk.json"), JSON.stringify({ app: "false", context: { shop: "1" } }));
  expect(readFileSync(join(await run("node app.cjs"), "manifest.json"), "utf8")).toBe('{"shop":"1"}');
});

test("the error names a cdk.json that is not JSON", async () => {
  writeFileSync(join(root, "cdk.json"), "{");
  await expect(run()).rejects.toThrow(/cdk\.json must be JSON: .+/);
});

test("two runners at the same time do not disturb each other", async () => {
  app("node infra/app.cjs", WRITES);
  const [first, second] = await Promise.all([run(), run()]);
  expect(first).toBe(second);
});

test("a failing app is quoted in one line, and nothing is cached", async () => {
  app("node infra/app.cjs", 'throw new RangeError("topic must not be empty");');
  await expect(run()).rejects.toThrow(
    /^synthesising failed: `node infra\/app.cjs` ended with 1: RangeError: topic must not be empty$/,
  );
  await expect(run()).rejects.toThrow();
});

test("a reason of several lines becomes one", async () => {
  app("node infra/app.cjs", 'throw new Error("props that cannot be:\\n  - ttr is 0\\n  - shards is 0");');
  await expect(run()).rejects.toThrow(/: Error: props that cannot be: - ttr is 0 - shards is 0$/);
});

test("the error names an app that writes no manifest.json", async () => {
  app("node infra/app.cjs");
  await expect(run()).rejects.toThrow(/wrote no manifest\.json/);
});

test("the error of an ES module in a CommonJS package says what to run", async () => {
  app("node infra/app.cjs", 'import { App } from "aws-cdk-lib";');
  await expect(run()).rejects.toThrow(/package\.json says .* CommonJS: run "npm pkg set type=module"$/);
});

test("the error names a missing cdk.json, and --app", async () => {
  await expect(run()).rejects.toThrow(/there is no .*cdk\.json that names the app; name the app with --app/);
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
  const called = expect(run(undefined, stopping.signal)).rejects.toThrow(/aborted/);
  const pid = await childPid();
  stopping.abort();
  await called;
  await expect.poll(() => isAlive(pid), { interval: 5 }).toBe(false);
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
