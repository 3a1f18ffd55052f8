import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { App, Stack, type Stage } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Runtime } from "aws-cdk-lib/aws-lambda";
import { NodejsFunction } from "aws-cdk-lib/aws-lambda-nodejs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DelayQueue } from "../../../infra/delay-queue.ts";

/** A form of a module. `main`: a module of the app. `packages`: the files of packages, by their paths in `node_modules`. */
type Form = { readonly main: string; readonly packages?: Readonly<Record<string, string>> };

const common = (code: string): Form => ({
  main: 'import value from "common";\nexport { value };\n',
  packages: { "common/index.js": code },
});

/** A package with an entry for bundlers and one for Node, of different shapes, as `node-fetch` has. */
const TWO_ENTRIES = {
  "two/package.json": '{"name": "two", "main": "main.js", "module": "module.mjs"}',
  "two/main.js": 'module.exports = () => "two"; module.exports.named = 1;',
  "two/module.mjs": 'export default () => "two"; export const named = 1;',
};
const CONDITIONS = {
  "split/package.json":
    '{"name": "split", "exports": {".": {"import": "./x.mjs", "require": "./x.cjs"}, "./sub": {"node": "./node.cjs", "default": "./x.mjs"}}}',
  "split/x.mjs": 'export default "import";',
  "split/x.cjs": 'module.exports = "require";',
  "split/node.cjs": 'module.exports = "node";',
};
const FORMS: Readonly<Record<string, Form>> = {
  __dirname: common('module.exports = require("path").relative(process.env.TASK_ROOT, __dirname);'),
  __filename: common(
    'module.exports = require("fs").existsSync(__filename) && require("path").dirname(__filename) === __dirname;',
  ),
  "__dirname of a package that declares it too": common(
    'const { dirname } = require("path");\n{ const __dirname = dirname("/a/b"); module.exports = __dirname; }',
  ),
  "a file beside the bundle": common(
    'try { require(require("path").join(__dirname, "native.node")); } catch (error) { module.exports = error.code; }',
  ),
  "module and exports": common("exports.same = module.exports === exports; exports.type = typeof module.id;"),
  "module.exports.default": common("module.exports = { default: 1, other: 2 };"),
  __esModule: common('Object.defineProperty(exports, "__esModule", { value: true }); exports.default = 7;'),
  this: common("this.value = typeof this; this.self = this === module.exports;"),
  "require.main": common(
    "module.exports = [require.main === module, typeof require.cache, typeof require.extensions];",
  ),
  "require.resolve": common('module.exports = require.resolve("fs");'),
  "a dynamic require": common('module.exports = typeof require(["o", "s"].join("")).cpus;'),
  "a require in a condition": common(
    'let found; try { found = require("is-not-installed"); } catch { found = "missing"; } module.exports = found;',
  ),
  "typeof require": common(
    "module.exports = [typeof require, typeof module, typeof exports, typeof __filename, typeof define];",
  ),
  UMD: common(
    '(function (root, factory) { if (typeof define === "function" && define.amd) define(["exports"], factory); else if (typeof module === "object" && module.exports) module.exports = factory(); else root.umd = factory(); })(this, () => "umd");',
  ),
  "the global object": common(
    'module.exports = [typeof global.setTimeout, Function("return this")() === globalThis];',
  ),
  "Node's modules": common(
    'module.exports = [require("node:events") === require("events"), new (require("stream").Readable)().readable, typeof require("fs/promises").readFile];',
  ),
  "a class of Node's modules": common(
    'class Emitter extends require("events") {} module.exports = new Emitter().on("x", () => {}).emit("x");',
  ),
  "names of classes and functions": {
    main: "class Order {}\nclass Declined extends Error { constructor() { super(); this.name = this.constructor.name; } }\nfunction refund() {}\nexport const value = [Order.name, new Declined().name, refund.name, (() => {}).name];\n",
  },
  JSON: {
    main: 'import data, { version } from "data/x.json";\nimport { createRequire } from "node:module";\nexport const value = [data, version, typeof createRequire];\n',
    packages: { "data/x.json": '{"version": 3}' },
  },
  "require of JSON": {
    ...common('module.exports = require("./data.json");'),
    packages: {
      "common/index.js": 'module.exports = require("./data.json");',
      "common/data.json": '{"a": [1]}',
    },
  },
  "import of a package with two entries": {
    main: 'import two, { named } from "two";\nexport const value = [two(), named];\n',
    packages: TWO_ENTRIES,
  },
  "conditions of exports": {
    main: 'import imported from "split";\nimport required from "needs-split";\nimport sub from "split/sub";\nexport const value = [imported, required, sub];\n',
    packages: { ...CONDITIONS, "needs-split/index.js": 'module.exports = require("split");' },
  },
  "side effects": {
    main: 'import "effect";\nimport "no-effect";\nexport const value = [globalThis.effect, globalThis.noEffect];\n',
    packages: {
      "effect/package.json": '{"sideEffects": ["./index.js"]}',
      "effect/index.js": "globalThis.effect = 1;",
      "no-effect/package.json": '{"sideEffects": false}',
      "no-effect/index.js": "globalThis.noEffect = 1;",
    },
  },
  "a circle": {
    main: 'import value from "circle";\nexport { value };\n',
    packages: {
      "circle/index.js": 'exports.a = 1; exports.b = require("./b").b;',
      "circle/b.js": 'exports.b = require("./index").a + 1;',
    },
  },
  "an external package": {
    main: 'import outside from "outside";\nexport const value = outside();\n',
    packages: { "outside/index.js": 'module.exports = () => "outside";' },
  },
  "decorated enums of TypeScript": {
    main: "enum State { Open, Closed }\nnamespace Names { export const a = State[1]; }\nexport const value = Names.a;\n",
  },
};
/** In a bundle of its own, because it changes how the other packages are found. */
const REQUIRED_TWICE: Readonly<Record<string, Form>> = {
  "require of a package with two entries": {
    main: 'import value from "needs";\nexport { value };\n',
    packages: {
      ...TWO_ENTRIES,
      "needs/index.js": 'const two = require("two"); module.exports = [two(), two.named];',
    },
  },
};
/** `NodejsFunction` cannot run these forms. */
const OURS_ALONE: Readonly<Record<string, Form>> = {
  "import.meta": {
    main: 'import { fileURLToPath } from "node:url";\nexport const value = fileURLToPath(import.meta.url) === import.meta.filename;\n',
  },
  createRequire: {
    main: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\nexport const value = require("os").EOL;\n',
  },
  "own __dirname": {
    main: 'import { dirname } from "node:path";\nimport { fileURLToPath } from "node:url";\nconst __filename = fileURLToPath(import.meta.url);\nconst __dirname = dirname(__filename);\nexport const value = __dirname === import.meta.dirname;\n',
  },
};

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
  const loads = Object.entries(forms).map(([form, { main, packages = {} }], i) => {
    write(`${name}/${i}/main.ts`, main);
    for (const [file, text] of Object.entries(packages)) write(`${name}/${i}/node_modules/${file}`, text);
    return `  ${JSON.stringify(form)}: () => import("./${i}/main.ts"),`;
  });
  const collect = `const values = {};
  for (const [form, load] of Object.entries(loads)) values[form] = await load().then(({ value }) => ({ value }), (error) => ({ error: String(error) }));
  return values;`;
  write(
    `${name}/handler.ts`,
    `const loads = {\n${loads.join("\n")}\n};\nexport const handler = async () => {\n  ${collect}\n};\n`,
  );
  return join(folder, name, "handler.ts");
}

type Values = Readonly<Record<string, { readonly value?: unknown; readonly error?: string }>>;

/** Calls the handler of a function in a new process of plain Node, from the folder of its asset. */
function call(app: Stage, stack: Stack, description: string): Values {
  const assembly = app.synth();
  const template = Template.fromStack(stack).findResources("AWS::Lambda::Function", {
    Properties: { Description: description },
  });
  const [{ Properties }] = Object.values(template) as [{ Properties: { Code: { S3Key: string } } }];
  const root = join(assembly.directory, `asset.${Properties.Code.S3Key.replace(".zip", "")}`);
  // A layer has the external package.
  const layer = "outside/index.js";
  mkdirSync(join(root, "node_modules", "outside"), { recursive: true });
  writeFileSync(join(root, "node_modules", layer), 'module.exports = () => "outside";');
  const program = `
    const { existsSync } = require("node:fs");
    const file = ["index.js", "index.mjs"].map((name) => process.env.TASK_ROOT + "/" + name).find((path) => existsSync(path));
    import(file).then(({ handler }) => handler()).then((values) => console.log(JSON.stringify(values)));`;
  const output = execFileSync(process.execPath, ["--eval", program], {
    env: { TASK_ROOT: root },
    encoding: "utf8",
  });
  return JSON.parse(output);
}

/** The values of all forms, as our bundle has them and as that of `NodejsFunction`. */
function values(name: string, forms: Readonly<Record<string, Form>>, { both }: { both: boolean }) {
  const entry = writeHandler(name, forms);
  const app = new App({
    outdir: join(folder, `${name}.out`),
    context: { "aws:cdk:disable-asset-staging": false },
  });
  const stack = new Stack(app, "Shop");
  const bundling = { externalModules: ["outside"] };
  new DelayQueue(stack, "Jobs", { topics: { mail: {} } }).addHandler("mail", entry, {
    bundling,
    description: "ours",
  });
  if (both) {
    const lock = join(folder, "package-lock.json");
    writeFileSync(lock, "{}");
    const more = { entry, depsLockFilePath: lock, projectRoot: folder, runtime: Runtime.NODEJS_24_X };
    new NodejsFunction(stack, "Theirs", { ...more, bundling, description: "theirs" });
  }
  return { ours: call(app, stack, "ours"), theirs: both ? call(app, stack, "theirs") : {} };
}

test.each([
  ["many", FORMS],
  ["two-entries", REQUIRED_TWICE],
])("a bundle runs what NodejsFunction would run, with the same result: %s", (name, forms) => {
  const { ours, theirs } = values(name, forms, { both: true });
  expect(Object.keys(theirs)).toEqual(Object.keys(forms));
  expect(Object.entries(theirs).filter(([, { error }]) => error !== undefined)).toEqual([]);
  expect(ours).toEqual(theirs);
});

test("a bundle also runs forms of ES modules that NodejsFunction cannot run", () => {
  const { ours } = values("alone", OURS_ALONE, { both: false });
  expect(ours).toEqual({
    "import.meta": { value: true },
    createRequire: { value: "\n" },
    "own __dirname": { value: true },
  });
});
