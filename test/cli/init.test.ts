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
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { blocks, fileOf } from "../docs/blocks.ts";
import { type } from "./command-line.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-init-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const init = (...topics: string[]) =>
  type(undefined, ["init", ...topics.flatMap((topic) => ["--topic", topic])], { folder });
const read = (path: string): string => readFileSync(join(folder, path), "utf8");
const manifest = () => JSON.parse(read("package.json"));
function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
const files = (): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path !== "jobs")
    .sort();

describe("in an empty folder", () => {
  test("init writes an app, a handler and a test for each topic, and what npm needs", async () => {
    const { code, out } = await init("order-timeout", "refund");
    expect(code).toBe(0);
    expect(files()).toEqual([
      ...[".gitignore", "app.ts", "cdk.json"],
      ...["jobs/order-timeout.test.ts", "jobs/order-timeout.ts"],
      ...["jobs/refund.test.ts", "jobs/refund.ts", "jobs/topics.ts"],
      ...["package.json", "tsconfig.json"],
    ]);
    expect(JSON.parse(read("cdk.json"))).toEqual({ app: "node app.ts" });
    expect(read("app.ts")).toContain('queue.addHandler("refund", "jobs/refund.ts");');
    expect(out).toContain("npm install\n  npm test\n  npm run local\n  npx minutehand enqueue order-timeout");
  });

  test("package.json has the scripts, and the packages in the versions of this package", async () => {
    await init("refund");
    const { scripts, dependencies, devDependencies } = manifest();
    expect(scripts).toMatchObject({ local: "minutehand local", synth: "cdk synth --quiet" });
    expect(scripts.test).toMatch(/^node --test /);
    expect(dependencies).toEqual({ minutehand: `^${packageJson.version}` });
    const versions: Record<string, string> = { ...packageJson.dependencies, ...packageJson.devDependencies };
    for (const name of ["aws-cdk", "aws-cdk-lib", "constructs", "esbuild", "fauxqs", "typescript"])
      expect(devDependencies[name]).toBe(versions[name]);
  });

  test("on a terminal init asks for the topics", async () => {
    const { code, err } = await type(undefined, ["init"], {
      folder,
      terminal: true,
      input: "refund, reminder\n",
    });
    expect({ code, err }).toEqual({ code: 0, err: "Topics, such as order-timeout refund: " });
    expect(files()).toContain("jobs/reminder.ts");
  });

  test.each([
    [["init"], {}, "init needs --topic, because there is no terminal on which it can ask for the topics"],
    [["init"], { terminal: true, input: "\n" }, "init needs one topic or more"],
    [
      ["init"],
      { terminal: true, input: "Refund\n" },
      "the topic 'Refund' is invalid. It must be 1 to 50 characters of a-z, 0-9 and -.",
    ],
    [
      ["init", "--topic", "Refund"],
      {},
      "option '--topic <topic>' argument 'Refund' is invalid. It must be 1 to 50 characters of a-z, 0-9 and -.",
    ],
  ] as const)("%j with %j is refused, and nothing is written", async (args, typed, refusal) => {
    const { code, err } = await type(undefined, args, { ...typed, folder });
    expect(code).toBe(2);
    expect(err).toContain(`minutehand: ${refusal}\n`);
    expect(files()).toEqual([]);
  });
});

describe("in a folder with files", () => {
  test("init overwrites nothing, and names what it leaves", async () => {
    write("tsconfig.json", "{ mine }");
    write("app.ts", "mine");
    write("jobs/refund.ts", "mine");
    const { out } = await init("refund");
    expect(["tsconfig.json", "app.ts", "jobs/refund.ts"].map(read)).toEqual(["{ mine }", "mine", "mine"]);
    expect(out).toContain("left  jobs/refund.ts as it is\n");
    // The app is the user's own, so the lines for it are printed.
    expect(out).toContain('queue.addHandler("refund", "jobs/refund.ts");');
  });

  test("package.json keeps its own values and its indent, and npm's failing test script is replaced", async () => {
    const scripts = { test: 'echo "Error: no test specified" && exit 1', local: "mine" };
    write(
      "package.json",
      JSON.stringify({ name: "x", scripts, devDependencies: { esbuild: "0.25.0" } }, undefined, 4),
    );
    await init("refund");
    expect(manifest()).toMatchObject({
      name: "x",
      type: "module",
      scripts: { local: "mine", test: 'node --test "jobs/*.test.ts"' },
      devDependencies: { esbuild: "0.25.0", "aws-cdk-lib": packageJson.devDependencies["aws-cdk-lib"] },
    });
    expect(read("package.json")).toMatch(/^\{\n {4}"name"/);
  });

  test("a second init changes nothing, and a further topic comes with the lines to add", async () => {
    await init("refund");
    const before = Object.fromEntries(files().map((path) => [path, read(path)]));
    expect((await init("refund")).out).not.toMatch(/wrote|added|Add/);
    const { out } = await init("reminder");
    expect(out).toContain('topics: { "reminder": {} }\n  queue.addHandler("reminder", "jobs/reminder.ts");');
    expect(out).toContain('Add to jobs/topics.ts:\n\n  "reminder": { id: string };');
    for (const [path, text] of Object.entries(before)) expect(read(path)).toBe(text);
  });

  test.each(["{", '"text"', "null", "[]"])(
    "a package.json of %s is refused, and nothing is written",
    async (text) => {
      write("package.json", text);
      const { code, err } = await init("refund");
      expect(code).toBe(1);
      expect(err).toMatch(/^minutehand: package\.json must be a JSON object/);
      expect(files()).toEqual(["package.json"]);
    },
  );
});

describe("in a CDK app", () => {
  test("init adds handlers, tests and packages, and prints the lines for the app", async () => {
    write("cdk.json", '{"app":"node bin/app.ts"}');
    write("package.json", JSON.stringify({ name: "x", type: "module", scripts: { test: "node old.js" } }));
    write("tsconfig.json", "{}");
    write(".gitignore", "node_modules\ncdk.out\n");
    const { out } = await init("refund");
    expect(existsSync(join(folder, "app.ts"))).toBe(false);
    expect(manifest().scripts).toMatchObject({
      test: "node old.js",
      "test:jobs": 'node --test "jobs/*.test.ts"',
    });
    expect(out).toContain('const queue = new DelayQueue(this, "Jobs", { topics: { "refund": {} } });');
    expect(out).toContain("Add to .gitignore:\n\n  .minutehand\n");
    expect(out).toContain('"rewriteRelativeImportExtensions": true');
    expect(out).toContain("npm run test:jobs");
  });

  test("a CommonJS package gets .mts files, which Node takes for modules", async () => {
    write("cdk.json", '{"app":"npx ts-node bin/app.ts"}');
    write("package.json", "{}");
    const { out } = await init("refund");
    expect(files()).toContain("jobs/refund.mts");
    expect(read("jobs/refund.test.mts")).toContain('from "./refund.mts"');
    expect(manifest()).not.toHaveProperty("type");
    expect(out).toContain('queue.addHandler("refund", "jobs/refund.mts");');
  });

  test("a package with Vitest gets a test for Vitest", async () => {
    write("cdk.json", "{}");
    const scripts = { test: "vitest run" };
    write("package.json", JSON.stringify({ type: "module", scripts, devDependencies: { vitest: "5.1.1" } }));
    await init("refund");
    expect(read("jobs/refund.test.ts")).toContain('import { expect, test } from "vitest";');
    expect(manifest().scripts).toMatchObject({ test: "vitest run" });
    expect(manifest().scripts).not.toHaveProperty("test:jobs");
  });
});

test("--json prints what was written, left, and is to be added", async () => {
  const { lines } = await type(undefined, ["init", "--json", "--topic", "refund"], { folder });
  expect(lines).toMatchObject([{ wrote: expect.arrayContaining(["app.ts"]), kept: [], add: [] }]);
});

test("the page of the first job shows the files that init writes", async () => {
  await init("order-timeout");
  const stack = basename(folder).replaceAll(/(?:^|[^A-Za-z0-9]+)(\w)/g, (_, letter) => letter.toUpperCase());
  const shown = blocks().filter((block) => block.page === "docs/start.md" && fileOf(block) !== undefined);
  expect(shown.map(fileOf)).toEqual(["app.ts", "jobs/topics.ts", "jobs/order-timeout.ts"]);
  for (const block of shown)
    expect(`// ${fileOf(block)}\n${read(fileOf(block) ?? "").replace(`"${stack}"`, '"Shop"')}`).toBe(
      block.text,
    );
});
