import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Runtime } from "aws-cdk-lib/aws-lambda";
import { NodejsFunction } from "aws-cdk-lib/aws-lambda-nodejs";
import type { CloudAssembly } from "aws-cdk-lib/cx-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import {
  COMMON_JS_ENTRIES,
  FORMS,
  type Form,
  META_OF_PACKAGE,
  OURS_ALONE,
  REQUIRED_TWICE,
  SLOPPY,
  SLOPPY_SYNTAX,
} from "./forms.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-forms-"));
  // `NodejsFunction` starts the esbuild of the app.
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(import.meta.dirname, "../../../node_modules/.bin"), join(folder, "node_modules", ".bin"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A handler that loads each form when it is called, and answers the value of each, or its error. Two packages may have the same name. */
function writeHandler(name: string, forms: Readonly<Record<string, Form>>): string {
  const loads = Object.entries(forms).map(([form, { main, files = {}, packages = {} }], i) => {
    write(`${name}/${i}/main.ts`, main);
    for (const [file, text] of Object.entries(files)) write(`${name}/${i}/${file}`, text);
    for (const [file, text] of Object.entries(packages)) write(`${name}/${i}/node_modules/${file}`, text);
    return `  ${JSON.stringify(form)}: () => import("./${i}/main.ts"),`;
  });
  const collect = `const values = {};
  for (const [form, load] of Object.entries(loads)) values[form] = await load().then(async ({ value }) => ({ value: await value }), (error) => ({ error: String(error) }));
  return values;`;
  write(
    `${name}/handler.ts`,
    `const loads = {\n${loads.join("\n")}\n};\nexport const handler = async () => {\n  ${collect}\n};\n`,
  );
  return join(folder, name, "handler.ts");
}

type Value = { readonly value?: unknown; readonly error?: string };
type Values = Readonly<Record<string, Value>>;

/** What Lambda has outside of a bundle: a layer's packages and the SDK of the runtime. */
const OUTSIDE = {
  "outside/index.js": 'module.exports = () => "outside";',
  "outside-compiled/index.js":
    'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = () => "outside"; exports.named = 1;',
  "@aws-sdk/client-of-runtime/index.js": "exports.Client = class Client { name = 'runtime'; };",
  "@aws-sdk/client-of-runtime/sub.js": 'module.exports = "sub";',
  "@smithy/of-runtime/index.js": "exports.core = 1;",
};
const EXTERNAL = ["outside", "outside-compiled"];

/** Calls the handler of a function in a new process of plain Node, from the folder of its asset. */
function call(assembly: CloudAssembly, stack: Stack, description: string): unknown {
  const template = Template.fromStack(stack).findResources("AWS::Lambda::Function", {
    Properties: { Description: description },
  });
  const [{ Properties }] = Object.values(template) as [{ Properties: { Code: { S3Key: string } } }];
  const root = join(assembly.directory, `asset.${Properties.Code.S3Key.replace(".zip", "")}`);
  for (const [file, text] of Object.entries(OUTSIDE)) {
    mkdirSync(dirname(join(root, "node_modules", file)), { recursive: true });
    writeFileSync(join(root, "node_modules", file), text);
  }
  const program = `
    const { existsSync } = require("node:fs");
    const file = ["js", "mjs", "cjs"].map((type) => process.env.TASK_ROOT + "/index." + type).find((path) => existsSync(path));
    const load = file.endsWith(".mjs") ? import(file) : Promise.resolve(require(file));
    load.then(({ handler }) => handler()).then((value) => console.log(JSON.stringify(value)));`;
  const output = execFileSync(process.execPath, ["--eval", program], {
    env: { TASK_ROOT: root },
    encoding: "utf8",
  });
  return JSON.parse(output);
}

/** Bundles the files of handlers, each for a topic of its own, and calls each as our bundle has it and as that of `NodejsFunction`. */
function callAll(name: string, entries: Readonly<Record<string, string>>, { both }: { both: boolean }) {
  const app = new App({
    outdir: join(folder, `${name}.out`),
    context: { "aws:cdk:disable-asset-staging": false },
  });
  const stack = new Stack(app, "Shop");
  const topics = Object.fromEntries(Object.keys(entries).map((topic) => [topic, {}]));
  const queue = new DelayQueue(stack, "Jobs", { topics });
  const lock = join(folder, "package-lock.json");
  writeFileSync(lock, "{}");
  for (const [topic, entry] of Object.entries(entries)) {
    const bundling = { externalModules: EXTERNAL };
    queue.addHandler(topic, entry, { bundling, description: `ours ${topic}` });
    if (!both) continue;
    new NodejsFunction(stack, topic, {
      ...{ entry, depsLockFilePath: lock, projectRoot: folder, runtime: Runtime.NODEJS_24_X },
      description: `theirs ${topic}`,
      // The two last are its default, which the others would replace.
      bundling: { externalModules: [...EXTERNAL, "@aws-sdk/*", "@smithy/*"] },
    });
  }
  const assembly = app.synth();
  return Object.keys(entries).map((topic) => ({
    topic,
    ours: call(assembly, stack, `ours ${topic}`),
    theirs: both ? call(assembly, stack, `theirs ${topic}`) : undefined,
  }));
}

/** The values of all forms, as our bundle has them and as that of `NodejsFunction`. */
function values(name: string, forms: Readonly<Record<string, Form>>, { both }: { both: boolean }) {
  const [called] = callAll(name, { mail: writeHandler(name, forms) }, { both });
  return called as { ours: Values; theirs: Values };
}

test.each([
  ["many", { ...FORMS, ...SLOPPY, ...SLOPPY_SYNTAX }],
  ["two-entries", REQUIRED_TWICE],
])("a bundle runs what NodejsFunction would run, with the same result: %s", (name, forms) => {
  const { ours, theirs } = values(name, forms, { both: true });
  expect(Object.keys(theirs)).toEqual(Object.keys(forms));
  expect(Object.entries(theirs).filter(([, { error }]) => error !== undefined)).toEqual([]);
  expect(ours).toEqual(theirs);
});

test("in a project with strict mode a bundle runs the same forms as NodejsFunction, and refuses the same ones", () => {
  write("strict/tsconfig.json", '{"compilerOptions": {"strict": true}}');
  const { ours, theirs } = values("strict", { ...FORMS, ...SLOPPY }, { both: true });
  expect(theirs["a name that is not declared"]).toEqual({ error: "ReferenceError: declared is not defined" });
  expect(ours).toEqual(theirs);
});

test("the file of a handler may be CommonJS", () => {
  for (const [file, text] of Object.entries(COMMON_JS_ENTRIES)) write(`entries/${file}`, text);
  const entries = Object.keys(COMMON_JS_ENTRIES).map((file) => [
    file.replace(".", "-"),
    join(folder, "entries", file),
  ]);
  for (const { topic, ours, theirs } of callAll("entries", Object.fromEntries(entries), { both: true }))
    expect({ topic, value: ours }).toEqual({ topic, value: theirs });
});

test("a bundle also runs forms of ES modules that NodejsFunction cannot run", () => {
  const { ours } = values("alone", OURS_ALONE, { both: false });
  expect(ours).toEqual({
    "import.meta": { value: true },
    createRequire: { value: "\n" },
    "own importMeta": { value: true },
    "own __dirname": { value: true },
    "import.meta.resolve": { value: [true, true, false] },
  });
});

test("a bundle runs a package that uses import.meta", () => {
  const { ours } = values("meta", META_OF_PACKAGE, { both: false });
  expect(ours).toEqual({ "import.meta of a package": { value: true } });
});

test("a bundle of modules that await runs as an ES module", () => {
  const awaits = {
    main: 'import common from "common";\nexport const value = [await common(), import.meta.url.endsWith("/index.mjs")];\n',
    packages: { "common/index.js": "module.exports = async () => __dirname === process.env.TASK_ROOT;" },
  };
  const { ours } = values("awaits", { ...OURS_ALONE, awaits }, { both: false });
  expect(ours).toMatchObject({
    awaits: { value: [true, true] },
    "import.meta": { value: true },
    createRequire: { value: "\n" },
  });
});
