import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { blocks, fileOf } from "../docs/blocks.ts";
import { type } from "./command-line.ts";

const NPM_DEFAULT = 'echo "Error: no test specified" && exit 1';
const CDK_TEMPLATE = join(
  import.meta.dirname,
  "../../node_modules/aws-cdk/lib/init-templates/app/typescript",
);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-init-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const init = (...topics: string[]) =>
  type(undefined, ["init", ...topics.flatMap((topic) => ["--topic", topic])], { folder });
const flagged = (...flags: string[]) => type(undefined, ["init", "--topic", "refund", ...flags], { folder });
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
  test("init writes an app, a client, a handler and a test for each topic, and what npm needs", async () => {
    const { code, out } = await init("order-timeout", "refund");
    expect(code).toBe(0);
    expect(files()).toEqual([
      ...[".gitignore", "app.ts", "cdk.json", "jobs/client.ts"],
      ...["jobs/order-timeout.test.ts", "jobs/order-timeout.ts"],
      ...["jobs/refund.test.ts", "jobs/refund.ts", "jobs/topics.ts"],
      ...["package.json", "tsconfig.json"],
    ]);
    expect(JSON.parse(read("cdk.json"))).toEqual({ app: "node app.ts" });
    expect(read("app.ts")).toContain('queue.addHandler("refund", "jobs/refund.ts");');
    expect(out).toMatch(/^A new CDK app, ES modules: handlers in jobs\/, tests in jobs\/ for node:test\n/);
    expect(out).toContain("npm install\n  npm test\n  npm run local\n  npx minutehand enqueue order-timeout");
  });

  test("app, client, handlers and tests have the type of the topics", async () => {
    await init("order-timeout", "refund");
    expect(read("app.ts")).toContain("new DelayQueue<Topics>(");
    expect(read("jobs/client.ts")).toContain("createClient<Topics>(");
    expect(read("jobs/refund.ts")).toContain('consumer<Topics, "refund">(');
    expect(read("jobs/refund.test.ts")).toContain('createTestQueue<Pick<Topics, "refund">>(');
  });

  test("the client refuses to call this machine from a function on AWS", async () => {
    await init("refund");
    expect(read("jobs/client.ts")).toContain(`if (AWS_LAMBDA_FUNCTION_NAME && !MINUTEHAND_URL)
  throw new Error("this function needs MINUTEHAND_URL, the URL of the queue's API: `);
  });

  test("package.json has the scripts, and the packages in the versions of this package", async () => {
    await init("refund");
    const { type, scripts, dependencies, devDependencies } = manifest();
    expect(type).toBe("module");
    expect(scripts).toMatchObject({ local: "minutehand local", synth: "cdk synth --quiet" });
    expect(scripts.test).toMatch(/^node --test /);
    expect(dependencies).toEqual({ minutehand: `^${packageJson.version}` });
    const versions: Record<string, string> = { ...packageJson.dependencies, ...packageJson.devDependencies };
    for (const name of ["aws-cdk", "aws-cdk-lib", "constructs", "esbuild", "fauxqs", "typescript"])
      expect(devDependencies[name]).toBe(versions[name]);
  });

  test("the type that npm init writes unasked counts for nothing while there is no code", async () => {
    write("package.json", JSON.stringify({ type: "commonjs", scripts: { test: NPM_DEFAULT } }));
    await init("refund");
    expect(manifest()).toMatchObject({ type: "module", scripts: { test: 'node --test "jobs/*.test.ts"' } });
  });

  test("--module commonjs writes CommonJS, which tsx runs", async () => {
    expect((await flagged("--module", "commonjs")).out).not.toContain("The folder has code");
    expect(manifest()).toMatchObject({
      type: "commonjs",
      scripts: { test: 'tsx --test "jobs/*.test.ts"' },
      devDependencies: { tsx: expect.any(String) },
    });
    expect(JSON.parse(read("cdk.json"))).toEqual({ app: "npx tsx app.ts" });
    expect(read("jobs/refund.test.ts")).toContain('from "./refund";');
    expect(JSON.parse(read("tsconfig.json")).compilerOptions).not.toHaveProperty("erasableSyntaxOnly");
  });

  test("--runner vitest brings Vitest", async () => {
    await flagged("--runner", "vitest");
    expect(read("jobs/refund.test.ts")).toContain('from "vitest";');
    const { scripts, devDependencies } = manifest();
    expect({ scripts, devDependencies }).toMatchObject({
      scripts: { test: "vitest run" },
      devDependencies: { vitest: packageJson.devDependencies.vitest },
    });
  });

  test.each([
    ["refund, reminder\n", '"node:test"'],
    ["refund, reminder\n\n", '"node:test"'],
    ["refund, reminder\nvitest\n", '"vitest"'],
  ])("on a terminal init asks for the topics and the runner: %j", async (input, runner) => {
    const { code, err } = await type(undefined, ["init"], { folder, terminal: true, input });
    const asked = "Topics, such as order-timeout refund: What runs the tests, node or vitest? [node] ";
    expect({ code, err }).toEqual({ code: 0, err: asked });
    expect(read("jobs/reminder.test.ts")).toContain(runner);
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
      ["init"],
      { terminal: true, input: "refund\nmocha\n" },
      "the runner 'mocha' is invalid. It must be node or vitest.",
    ],
    [
      ["init", "--topic", "Refund"],
      {},
      "option '--topic <topic>' argument 'Refund' is invalid. It must be 1 to 50 characters of a-z, 0-9 and -.",
    ],
    [
      ["init", "--topic", "refund", "--runner", "jest"],
      {},
      "--runner jest needs a project with Jest, such as the one of cdk init app --language typescript",
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
    write("cdk.json", "mine");
    write("jobs/refund.ts", "mine");
    const { out } = await init("refund");
    expect(["tsconfig.json", "cdk.json", "jobs/refund.ts"].map(read)).toEqual(["{ mine }", "mine", "mine"]);
    expect(out).toContain("left  jobs/refund.ts as it is\n");
    // The app is the user's own, so the lines for it are printed.
    expect(out).toContain('queue.addHandler("refund", "jobs/refund.ts");');
  });

  test.each(["app.ts", "app.js"])("beside the user's own %s, the CDK app stands in jobs", async (own) => {
    write(own, "mine");
    write("package.json", '{"type":"module"}');
    const { out } = await init("refund");
    expect(read(own)).toBe("mine");
    expect(JSON.parse(read("cdk.json"))).toEqual({ app: "node jobs/app.ts" });
    expect(read("jobs/app.ts")).toContain('import type { Topics } from "./topics.ts";');
    expect(out).not.toContain("Add to");
  });

  test("package.json keeps its own values and its indent, and npm's failing test script is replaced", async () => {
    const scripts = { test: NPM_DEFAULT, local: "mine" };
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

  test.each([
    [
      '{\n\t"name": "x",\n\t"scripts": {\n\t\t"build": "tsc",\n\t\t"test": "jest",\n\t\t"cdk": "cdk"\n\t},\n\t"files": ["a", "b"],\n\t"jest": { "verbose": true },\n\t"devDependencies": {\n\t\t"typescript": "~7.0.2",\n\t\t"jest": "^30"\n\t}\n}',
    ],
    [
      '{ "name": "x",\r\n  "files": ["a", "b"], "private": true,\r\n  "scripts": { "test": "jest" },\r\n  "devDependencies": {"typescript":"~7.0.2","jest":"^30"}\r\n}\r\n',
    ],
    ['{"name":"x","scripts":{"test":"jest"},"devDependencies":{"typescript":"~7.0.2","jest":"^30"}}'],
  ])("package.json keeps its order and its lines: %j", async (text) => {
    write("cdk.json", "{}");
    write("bin/shop.ts", "");
    write("package.json", text);
    await init("refund");
    const after = read("package.json");
    // Without what was added, the text is the one of before.
    const added =
      /(,\s*)?"(dependencies|local|synth|aws-cdk(-lib)?|constructs|esbuild|fauxqs|@types\/node)":\s*("[^"]*"|\{[^}]*\})/g;
    expect(after.replaceAll(added, "")).toBe(text);
    expect(after.match(added)).toHaveLength(9);
    expect(JSON.parse(after).scripts.local).toBe("minutehand local");
    expect(
      after
        .split("\n")
        .every((line) => line.endsWith("\r") === text.includes("\r") || line === "" || line === "}"),
    ).toBe(true);
  });

  test("a byte order mark and the line ends of Windows are taken", async () => {
    const [bom, settings] = ["\uFEFF", '{\r\n  "compilerOptions": {}\r\n}\r\n'];
    write("package.json", `${bom}{\r\n  "name": "x"\r\n}\r\n`);
    write("tsconfig.json", bom + settings);
    write(".gitignore", "dist\r\n");
    expect((await init("refund")).code).toBe(0);
    expect(manifest()).toMatchObject({ name: "x", scripts: { local: "minutehand local" } });
    for (const path of ["package.json", "tsconfig.json", ".gitignore"])
      expect(read(path).match(/[^\r]\n|^\uFEFF/)).toBeNull();
  });

  test("a second init changes nothing, and a further topic is added to what init has written", async () => {
    await init("refund");
    const before = Object.fromEntries(files().map((path) => [path, read(path)]));
    expect((await init("refund")).out).not.toMatch(/wrote|added|Add/);
    const { out } = await init("refund", "reminder", "mail");
    expect(out).toContain("added to jobs/topics.ts\nadded to app.ts\n");
    expect(out).not.toContain("Add to");
    const { "app.ts": app, "jobs/topics.ts": topics, ...others } = before;
    for (const [path, text] of Object.entries(others)) expect(read(path)).toBe(text);
    expect(read("jobs/topics.ts")).toBe(
      topics?.replace(/\};\n$/, '  "reminder": { id: string };\n  "mail": { id: string };\n};\n'),
    );
    expect(read("app.ts")).toBe(
      `${app?.replace('"refund": {}', '"refund": {}, "reminder": {}, "mail": {}')}` +
        'queue.addHandler("reminder", "jobs/reminder.ts");\nqueue.addHandler("mail", "jobs/mail.ts");\n',
    );
  });

  test("a further topic keeps the runner of the tests, also if another one is installed later", async () => {
    await init("refund");
    const before = manifest();
    write(
      "package.json",
      JSON.stringify({ ...before, devDependencies: { ...before.devDependencies, vitest: "5.1.1" } }),
    );
    expect((await init("reminder")).out).toContain("tests in jobs/ for node:test\n");
    expect(read("jobs/reminder.test.ts")).toContain('from "node:test";');
    expect(manifest().scripts).toEqual(before.scripts);
  });

  test("a further topic keeps the runner of test:jobs, beside the user's own tests", async () => {
    write("server.ts", "");
    write("package.json", JSON.stringify({ type: "module", scripts: { test: "node --test test/" } }));
    await flagged("--runner", "vitest");
    const { scripts } = manifest();
    expect(scripts["test:jobs"]).toBe("vitest run");
    await init("reminder");
    expect(read("jobs/reminder.test.ts")).toContain('from "vitest";');
    expect(manifest().scripts).toEqual(scripts);
  });

  test("--runner that contradicts the tests of an earlier init is refused", async () => {
    await init("reminder");
    const before = read("package.json");
    const { code, err } = await flagged("--runner", "vitest");
    expect(code).toBe(2);
    expect(err).toContain("--runner vitest does not fit: the tests of jobs are for node:test. To switch,");
    expect(read("package.json")).toBe(before);
  });

  test("a further topic is added beside a program in src, and beside changed bodies and options", async () => {
    write("src/shop.ts", "");
    write("package.json", '{"type":"module"}');
    await init("refund");
    const change = (path: string, from: string | RegExp, to: string) =>
      write(path, read(path).replace(from, to));
    change("src/jobs/topics.ts", "{ id: string };", "{\n    to: { id: string };\n  };");
    change("src/jobs/app.ts", /new App\(\), "\w+"/, 'new App(), "reminder"');
    change("src/jobs/app.ts", '"refund": {}', '"refund": { limit: 5, tracking: "full" }');
    const { out } = await init("reminder");
    expect(out).not.toContain("Add to");
    expect(read("src/jobs/topics.ts")).toMatch(/ {2}\};\n {2}"reminder": \{ id: string \};\n\};\n$/);
    expect(read("src/jobs/app.ts")).toContain(
      '"refund": { limit: 5, tracking: "full" }, "reminder": {} } });',
    );
    expect(read("src/jobs/app.ts")).toMatch(/queue\.addHandler\("reminder", "src\/jobs\/reminder\.ts"\);\n$/);
  });

  test.each([
    [
      '{\n  topics: {\n    "order-timeout": {},\n    refund: {\n      limit: 5,\n      webhook: { url },\n    },\n  },\n}',
      '{\n  topics: {\n    "order-timeout": {},\n    refund: {\n      limit: 5,\n      webhook: { url },\n    },\n    "webhook": {},\n  },\n}',
    ],
    [
      '{\n  prefix: "shop",\n  topics: { refund: {} },\n  removable: true,\n}',
      '{\n  prefix: "shop",\n  topics: { refund: {}, "webhook": {} },\n  removable: true,\n}',
    ],
  ])("a further topic is added to topics over several lines: %j", async (props, changed) => {
    await init("refund");
    const app = (props: string) =>
      `const queue = new DelayQueue<Topics>(stack, "Jobs", ${props});\nqueue.addHandler("refund", "jobs/refund.ts");\n`;
    write("app.ts", app(props));
    expect((await init("webhook")).out).not.toContain("Add to");
    expect(read("app.ts")).toBe(`${app(changed)}queue.addHandler("webhook", "jobs/webhook.ts");\n`);
  });

  test.each([
    [
      "export type Mail = { to: string };\nexport type Topics = {\n  refund: Mail;\n};\n",
      'new DelayQueue(stack, "Jobs", {\n  topics: { refund: {} },\n});\n',
    ],
    [
      "export interface Topics {\n  refund: { id: string };\n}\n",
      'const queue = new DelayQueue<Topics>(stack, "Jobs", { topics: { "refund": { limits: { a: 1 } } } });\n',
    ],
    [
      "export type Topics = {\n  refund: { id: string };\n};\nexport type Names = {\n  a: 1;\n};\n",
      'const queue = new DelayQueue<Topics>(stack, "Jobs", { topics: { "refund": {} }, ...more });\nqueue.addHandler("refund", "jobs/refund.ts");\n',
    ],
  ])(
    "a file of another shape is left, and the lines to add are printed with its name: %j",
    async (topics, app) => {
      await init("refund");
      write("jobs/topics.ts", topics);
      write("app.ts", app);
      const { out } = await init("reminder");
      expect(out).toContain(
        'Add to app.ts:\n\n  topics: { "reminder": {} }\n  queue.addHandler("reminder", "jobs/reminder.ts");',
      );
      expect(out).toContain('Add to jobs/topics.ts:\n\n  "reminder": { id: string };');
      expect([read("jobs/topics.ts"), read("app.ts")]).toEqual([topics, app]);
    },
  );

  test.each([
    "export type Topics = {\n  refund: { to: string };\n};\n",
    "export interface Topics { // bodies\n  'refund': { to: { id: string } }\n}\n",
    'export type Topics = { other: { id: string }; "refund": string };\n',
  ])("a declared topic with a body of its own is refused, and nothing is written: %j", async (topics) => {
    write("jobs/topics.ts", topics);
    const { code, err } = await init("reminder", "refund");
    expect(code).toBe(2);
    expect(err).toBe(
      "minutehand: jobs/topics.ts already has the topic refund, with a body of its own: write jobs/refund.ts and jobs/refund.test.ts yourself; nothing was written\n",
    );
    expect(files()).toEqual(["jobs/topics.ts"]);
  });

  test("a declared topic with the body of init gets its files and no advice, also without quotes", async () => {
    write("jobs/topics.ts", "export type Topics = {\n  refund: { id: string };\n};\n");
    const { code, out } = await init("refund");
    expect(code).toBe(0);
    expect(files()).toContain("jobs/refund.test.ts");
    expect(out).not.toContain("Add to jobs/topics.ts");
  });

  test("a field of another topic's body is no topic", async () => {
    write(
      "jobs/topics.ts",
      "/** refund: money */\nexport type Topics = {\n  mail: { refund: string; kind: { refund: 1 } };\n};\n",
    );
    expect((await init("refund")).code).toBe(0);
    expect(read("jobs/topics.ts")).toMatch(/\n {2}"refund": \{ id: string \};\n\};\n$/);
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

  test("--module that contradicts the package is refused", async () => {
    write("package.json", "{}");
    write("server.js", "");
    const { code, err } = await flagged("--module", "esm");
    expect(code).toBe(2);
    expect(err).toContain("--module esm does not fit: package.json has no type, which means commonjs");
    expect(files()).toEqual(["package.json", "server.js"]);
  });
});

describe("in a CommonJS program", () => {
  beforeEach(() => write("server.js", "require('express')"));

  test("the package keeps its type, and Node's runner uses tsx", async () => {
    write("package.json", "{}");
    const { out } = await init("refund");
    expect(out).toContain(
      'The folder has code and its package.json no "type": "module", so the new code is CommonJS.\n',
    );
    expect(manifest()).not.toHaveProperty("type");
    expect(manifest().scripts.test).toBe('tsx --test "jobs/*.test.ts"');
  });

  test("a `node --test` of the user's own does not run the new tests without tsx", async () => {
    write("package.json", JSON.stringify({ scripts: { test: "node --test" } }));
    await init("refund");
    expect(files()).toContain("jobs/refund.spec.ts");
    expect(manifest().scripts).toMatchObject({
      test: "node --test",
      "test:jobs": 'tsx --test "jobs/*.spec.ts"',
      posttest: "npm run test:jobs",
    });
  });
});

describe("in a program of JavaScript with Jest", () => {
  const TRANSFORM = { "\\.ts$": "@swc/jest", "\\.js$": "babel-jest" };
  const jest = { verbose: true };
  beforeEach(() => {
    write("server.js", "");
    write("package.json", JSON.stringify({ jest, devDependencies: { jest: "^30" } }));
  });

  test("Jest gets what runs TypeScript, once", async () => {
    await init("refund");
    expect(manifest().jest).toEqual({ ...jest, transform: TRANSFORM });
    expect(read("jobs/refund.test.ts")).toContain('from "@jest/globals";');
    expect((await init("refund")).out).not.toMatch(/wrote|added|Add/);
  });

  test("if a file configures Jest, init prints the line for it", async () => {
    write("jest.config.js", "module.exports = {};");
    const { out } = await init("refund");
    expect(manifest().jest).toEqual(jest);
    expect(out).toContain(`Add to the configuration of Jest:\n\n  transform: ${JSON.stringify(TRANSFORM)}\n`);
  });
});

describe("in a CDK app", () => {
  test("init adds handlers, tests, packages and settings, and prints the lines for the app", async () => {
    write("cdk.json", '{"app":"node bin/app.ts"}');
    write("bin/app.ts", "");
    write("package.json", JSON.stringify({ name: "x", type: "module", scripts: { test: "node old.js" } }));
    write("tsconfig.json", "{}");
    write(".gitignore", "node_modules\ncdk.out");
    const { out } = await init("refund");
    expect(existsSync(join(folder, "app.ts"))).toBe(false);
    expect(manifest().scripts).toMatchObject({
      test: "node old.js",
      "test:jobs": 'node --test "jobs/*.test.ts"',
      posttest: "npm run test:jobs",
    });
    expect(out).toContain("Add to the stack of your app:");
    expect(out).toContain(
      'const queue = new DelayQueue<Topics>(this, "Jobs", { topics: { "refund": {} } });',
    );
    expect(read(".gitignore")).toBe("node_modules\ncdk.out\n.minutehand\n");
    expect(JSON.parse(read("tsconfig.json"))).toEqual({
      compilerOptions: { rewriteRelativeImportExtensions: true, types: ["node"] },
    });
    expect(out).toMatch(/added to tsconfig\.json\n/);
  });

  test("as cdk init writes it, init fits Jest and CommonJS, and names the stack's file", async () => {
    cpSync(CDK_TEMPLATE, folder, { recursive: true });
    renameSync(join(folder, "lib/%name%-stack.template.ts"), join(folder, "lib/shop-stack.ts"));
    renameSync(join(folder, "test/%name%.test.template.ts"), join(folder, "test/shop.test.ts"));
    renameSync(join(folder, ".template.gitignore"), join(folder, ".gitignore"));
    const app = "npx tsc && npx tsx bin/shop.ts";
    expect(read("cdk.template.json").replace("%name%", "shop")).toContain(`"app": "${app}"`);
    write("cdk.json", read("cdk.template.json").replace("%name%", "shop"));
    const settings = read("tsconfig.json");
    const { lines } = await type(undefined, ["init", "--json", "--topic", "refund"], { folder });
    expect(lines).toMatchObject([
      {
        found: { app: "cdk", module: "commonjs", runner: "jest" },
        wrote: ["jobs/topics.ts", "jobs/client.ts", "jobs/refund.ts", "test/refund.test.ts"],
        changed: [".gitignore", "package.json"],
        add: [
          {
            to: "lib/shop-stack.ts",
            lines: expect.arrayContaining(['import type { Topics } from "../jobs/topics";']),
          },
        ],
      },
    ]);
    expect(read("test/refund.test.ts")).toContain('import { handler } from "../jobs/refund";');
    // Jest's names are global there.
    expect(read("test/refund.test.ts")).not.toMatch(/jest|node:/);
    expect(read("tsconfig.json")).toBe(settings);
    // The compiler would refuse each start and each save for an error in any file.
    expect(manifest().scripts.local).toBe('minutehand local --app "npx tsx bin/shop.ts"');
    expect(manifest().scripts).not.toHaveProperty("posttest");
    expect(manifest()).not.toHaveProperty("type");
  });

  test.each([
    ["tsc -p . && cdk-lint && tsx bin/shop.ts", ' --app "tsx bin/shop.ts"'],
    ["npx tsx bin/shop.ts", ""],
    ["npm run lint && npx tsx bin/shop.ts", ""],
    ["npx tsc && node bin/shop.js", ""],
    ["npx tsc", ""],
    ["npx tsc && npx tsx $APP.ts", ""],
  ])("in an app with the command %j, the script has%s", async (app, flag) => {
    write("bin/shop.ts", "");
    write("cdk.json", JSON.stringify({ app }));
    await init("refund");
    expect(manifest().scripts.local).toBe(`minutehand local${flag}`);
  });

  test("tsx and swc have the versions that cdk init takes", async () => {
    write("server.js", "");
    write("package.json", JSON.stringify({ devDependencies: { jest: "^30" } }));
    await init("refund");
    const { devDependencies } = JSON.parse(readFileSync(join(CDK_TEMPLATE, "package.json"), "utf8"));
    for (const name of ["tsx", "@swc/core", "@swc/jest"])
      expect(manifest().devDependencies[name]).toBe(devDependencies[name]);
  });

  test.each([
    [
      "pnpm-lock.yaml",
      ["pnpm install", "pnpm run test:jobs", "pnpm run local", "pnpm exec minutehand enqueue"],
    ],
    ["yarn.lock", ["yarn install", "yarn run test:jobs", "yarn run local", "yarn minutehand enqueue"]],
    ["bun.lock", ["bun install", "bun run test:jobs", "bun run local", "bunx minutehand enqueue"]],
  ])("the next commands are those of the package manager with %s", async (lock, commands) => {
    write(lock, "");
    write("src/shop.js", "");
    write("package.json", JSON.stringify({ type: "module", scripts: { test: "mocha" } }));
    const { out } = await init("refund");
    expect(out).toContain(`Next:\n\n  ${commands.join("\n  ")}`);
    const [, jobs] = commands;
    expect(manifest().scripts.posttest).toBe(jobs);
  });

  test("a package of a workspace uses the runner, the packages and the package manager of the workspace", async () => {
    const root = folder;
    const devDependencies = { vitest: "5.1.1", typescript: "5.9.3" };
    write("package.json", JSON.stringify({ workspaces: ["apps/*"], devDependencies }));
    write("yarn.lock", "");
    write("apps/shop/src/shop.ts", "");
    write("apps/shop/package.json", JSON.stringify({ type: "module" }));
    folder = join(root, "apps", "shop");
    const { out } = await init("refund");
    expect(out).toContain("handlers in src/jobs/, tests in src/jobs/ for Vitest\n");
    expect(out).toContain("Next:\n\n  yarn install\n  yarn test\n  yarn run local\n");
    expect(manifest().scripts.test).toBe("vitest run");
    expect(manifest().devDependencies).not.toHaveProperty("vitest");
    expect(manifest().devDependencies).not.toHaveProperty("typescript");
    folder = root;
  });

  test("a package with Vitest gets a test for Vitest, where its tests are, with its ending", async () => {
    write("cdk.json", "{}");
    write("src/shop.ts", "");
    write("test/shop.spec.ts", "");
    const scripts = { test: "vitest run" };
    write("package.json", JSON.stringify({ type: "module", scripts, devDependencies: { vitest: "5.1.1" } }));
    await init("refund");
    const text = read("test/refund.spec.ts");
    expect(text).toContain('import { expect, test } from "vitest";');
    expect(text).toContain('import { handler } from "../src/jobs/refund.ts";');
    expect(manifest().scripts).toMatchObject({ test: "vitest run" });
    expect(manifest().scripts).not.toHaveProperty("test:jobs");
  });
});

describe("tsconfig.json", () => {
  beforeEach(() => {
    write("main.ts", "");
    write("package.json", '{"type":"module"}');
  });

  test.each([
    [
      "{}",
      '{\n  "compilerOptions": {\n    "rewriteRelativeImportExtensions": true,\n    "types": ["node"]\n  }\n}',
    ],
    [
      '{"compilerOptions":{"strict":true}}\n',
      '{"compilerOptions":{"strict":true,"rewriteRelativeImportExtensions":true,"types":["node"]}}\n',
    ],
    [
      '{ "include": ["src"], "compilerOptions": { } }',
      '{ "include": ["src"], "compilerOptions": { "rewriteRelativeImportExtensions": true, "types": ["node"] } }',
    ],
    [
      '// "compilerOptions": {\n{ "compilerOptions": {} }',
      '// "compilerOptions": {\n{ "compilerOptions": { "rewriteRelativeImportExtensions": true, "types": ["node"] } }',
    ],
    [
      '{\r\n\t"compilerOptions": {\r\n\t\t"strict": true // yes\r\n\t}\r\n}',
      '{\r\n\t"compilerOptions": {\r\n\t\t"strict": true, // yes\r\n\t\t"rewriteRelativeImportExtensions": true,\r\n\t\t"types": ["node"]\r\n\t}\r\n}',
    ],
    [
      '{\n  // mine: { }\n  "compilerOptions": {\n    "paths": { "@/*": ["./*"] }, // "https://x"\n  },\n}\n',
      '{\n  // mine: { }\n  "compilerOptions": {\n    "paths": { "@/*": ["./*"] }, // "https://x"\n    "rewriteRelativeImportExtensions": true,\n    "types": ["node"],\n  },\n}\n',
    ],
    [
      '{"extends":"./base.json"}',
      '{"extends":"./base.json","compilerOptions":{"rewriteRelativeImportExtensions":true}}',
    ],
  ])("%j gets the option that imports of .ts files need, and keeps its own text", async (before, after) => {
    write("tsconfig.json", before);
    expect((await init("refund")).out).toContain("added to tsconfig.json");
    expect(read("tsconfig.json")).toBe(after);
  });

  test.each([
    '{ "compilerOptions": { "allowImportingTsExtensions": true, "types": [] } }',
    '{ "compilerOptions": { /* yes */ "rewriteRelativeImportExtensions": true }, "extends": "./base.json" }',
  ])("%j stays", async (text) => {
    write("tsconfig.json", text);
    expect((await init("refund")).out).not.toMatch(/compilerOptions/);
    expect(read("tsconfig.json")).toBe(text);
  });

  test.each([
    [{ type: "module" }, ', "types": ["node"]'],
    [{ type: "commonjs", devDependencies: { typescript: "~7.0.2" } }, ', "types": ["node"]'],
    [
      { devDependencies: { typescript: "^6", jest: "^30", "@types/jest": "^30" } },
      ', "types": ["node", "jest"]',
    ],
    // Before version 6 the compiler takes all installed types, and a list would take the others away.
    [{ devDependencies: { typescript: "^5" } }, ""],
    [{ devDependencies: { typescript: "~5.9.3" } }, ""],
  ])("the client of a package %j finds the types of Node", async (manifestBefore, types) => {
    write("package.json", JSON.stringify(manifestBefore));
    write("tsconfig.json", '{ "compilerOptions": { "allowImportingTsExtensions": true } }');
    await init("refund");
    const options = '"allowImportingTsExtensions": true';
    expect(read("tsconfig.json").replaceAll(/\s+/g, " ")).toBe(
      `{ "compilerOptions": { ${options}${types} } }`,
    );
  });

  describe("of a project with Vitest", () => {
    const hint =
      'Add to compilerOptions in tsconfig.json, because tsc would report errors in the types of vitest:\n\n  "skipLibCheck": true\n';
    const outWith = async (settings: string, devDependencies = {}) => {
      const packages = { typescript: "~5.9.3", vitest: "^5", ...devDependencies };
      write("package.json", JSON.stringify({ devDependencies: packages }));
      write("tsconfig.json", settings);
      const { out } = await init("refund");
      return out;
    };

    test.each([
      '{ "compilerOptions": { "module": "commonjs" } }',
      '{ "compilerOptions": { "module": "esnext", "moduleResolution": "node" } }',
      '{ "compilerOptions": { "moduleResolution": "node10", "skipLibCheck": false } }',
      "{}",
    ])("init says that %j lacks skipLibCheck", async (settings) => {
      expect(await outWith(settings)).toContain(hint);
    });

    test.each([
      ["has skipLibCheck", '{ "compilerOptions": { "module": "commonjs", "skipLibCheck": true } }', {}],
      ["may inherit it", '{ "extends": "./base.json" }', {}],
      ["is unclear", "{ mine }", {}],
      ["reads exports", '{ "compilerOptions": { "module": "NodeNext" } }', {}],
      [
        "reads exports for a bundler",
        '{ "compilerOptions": { "module": "esnext", "moduleResolution": "bundler" } }',
        {},
      ],
      ["is for TypeScript 6", '{ "compilerOptions": { "module": "commonjs" } }', { typescript: "^6" }],
      ["has another runner", "{}", { vitest: undefined }],
    ])("init says nothing if the file %s", async (_, settings, devDependencies) => {
      expect(await outWith(settings, devDependencies)).not.toContain("skipLibCheck");
    });
  });

  test.each(["{ mine }", "[]"])("%j is left, and the line is printed", async (text) => {
    write("tsconfig.json", text);
    const { out } = await init("refund");
    expect(read("tsconfig.json")).toBe(text);
    expect(out).toContain(
      'Add to compilerOptions in tsconfig.json:\n\n  "rewriteRelativeImportExtensions": true',
    );
  });
});

test("--json prints what was written, left, and is to be added", async () => {
  const { lines } = await type(undefined, ["init", "--json", "--topic", "refund"], { folder });
  expect(lines).toMatchObject([
    { wrote: expect.arrayContaining(["app.ts"]), changed: [], kept: [], add: [] },
  ]);
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

describe("with --template", () => {
  const plain = (...flags: string[]) => flagged("--template", ...flags);

  test("init writes minutehand.json with topics that programs pull, and `template` takes it", async () => {
    const { code, out } = await plain("--topic", "thumbnail");
    expect(code).toBe(0);
    expect(files()).toEqual([".gitignore", "minutehand.json"]);
    expect(read(".gitignore").split("\n")).toEqual(
      expect.arrayContaining([".minutehand", ".venv", "test.json", "deploy/functions"]),
    );
    expect(JSON.parse(read("minutehand.json"))).toEqual({
      $schema: "./node_modules/minutehand/docs/reference/minutehand.schema.json",
      topics: { refund: { consumer: "pull" }, thumbnail: { consumer: "pull" } },
    });
    expect(out).toContain("npx minutehand local\n  npx minutehand enqueue refund --delay 5");
    expect(out).toContain("/topics/refund/receive ");
    expect(out).toContain("python3 worker.py refund");
    const deploy = join(folder, "deploy");
    expect((await type(undefined, ["template", "--out", "deploy"], { folder })).code).toBe(0);
    expect(existsSync(join(deploy, "template.json"))).toBe(true);
  });

  test("it names the packages to install that package.json lacks", async () => {
    const { out } = await plain();
    for (const name of ["aws-cdk-lib", "constructs", "fauxqs"])
      expect(out).toMatch(new RegExp(`\n  npm install --save-dev .*\\b${name}@`));
    write("package.json", JSON.stringify({ devDependencies: { "aws-cdk-lib": "2", constructs: "10" } }));
    expect((await plain()).out).toMatch(/\n {2}npm install --save-dev fauxqs@\S+\n/);
    write(
      "package.json",
      JSON.stringify({ devDependencies: { "aws-cdk-lib": "2", constructs: "10", fauxqs: "2" } }),
    );
    expect((await plain()).out).toContain("Next:\n\n  npx minutehand local\n");
    write("pnpm-lock.yaml", "");
    expect((await plain()).out).toContain("Next:\n\n  pnpm exec minutehand local\n");
    write("package.json", "[]");
    expect(await plain()).toMatchObject({ code: 1, err: expect.stringContaining("package.json must be") });
  });

  test("its example of a worker is in the package", () => {
    for (const file of ["api.py", "worker.py"])
      expect(existsSync(join(import.meta.dirname, "../../examples/python", file))).toBe(true);
  });

  test("it adds a topic to the file that is there, and changes nothing else of it", async () => {
    const mine = '{\n\t"prefix": "shop",\n\t"topics": {\n\t\t"calls": { "webhook": {} }\n\t}\n}\n';
    write("minutehand.json", mine);
    expect((await plain()).out).toContain("added to minutehand.json");
    expect(JSON.parse(read("minutehand.json")).topics.refund).toEqual({ consumer: "pull" });
    expect(read("minutehand.json").replace(/,\s*"refund": \{[^}]*\}/, "")).toBe(mine);
    expect((await plain()).out).toContain("left  minutehand.json as it is");
  });

  test("the commands to try have no worker that pulls from a topic with a webhook", async () => {
    write("minutehand.json", '{ "topics": { "refund": { "webhook": {} } } }');
    const { out } = await plain();
    expect(out).toContain(`minutehand enqueue refund --delay 5 --body '{"id": "17"}'`);
    expect(out).not.toContain("worker.py");
  });

  test.each(["mine", "[]", '{ "topics": [] }', "{}"])(
    "a file that it cannot add to stays, and the error has the line to add: %s",
    async (mine) => {
      write("minutehand.json", mine);
      expect(await plain()).toMatchObject({
        code: 1,
        err: expect.stringContaining('add to its topics "refund": { "consumer": "pull" }'),
      });
      expect(read("minutehand.json")).toBe(mine);
      expect(files()).toEqual(["minutehand.json"]);
    },
  );

  test("--json says what it wrote", async () => {
    expect((await plain("--json")).lines).toMatchObject([
      {
        found: { app: "template" },
        wrote: ["minutehand.json", ".gitignore"],
        changed: [],
        kept: [],
        add: [],
      },
    ]);
  });

  test.each([
    ["in the folder of an app", [], () => write("cdk.json", "{}")],
    ["with --runner", ["--runner", "node"], () => {}],
    ["with --module", ["--module", "esm"], () => {}],
  ])("it refuses to run %s, and writes nothing", async (_, flags, prepare) => {
    prepare();
    expect((await plain(...flags)).code).toBe(2);
    expect(existsSync(join(folder, "minutehand.json"))).toBe(false);
  });
});
