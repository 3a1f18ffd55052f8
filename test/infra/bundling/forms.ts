/** A form of a module. `main`: a module of the app. `files`: others beside it. `packages`: the files of packages, by their paths in `node_modules`. */
export type Form = {
  readonly main: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly packages?: Readonly<Record<string, string>>;
};

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
export const FORMS: Readonly<Record<string, Form>> = {
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
  "import of JSON with an attribute": {
    main: 'import data from "data/x.json" with { type: "json" };\nexport const value = data;\n',
    packages: { "data/x.json": '{"version": 3}' },
  },
  "import = require": {
    main: 'import common = require("common");\nexport const value = common();\n',
    packages: { "common/index.js": 'module.exports = () => "common";' },
  },
  "export * of a package": {
    main: 'import * as all from "./all.ts";\nexport const value = [all.a, Object.keys(all)];\n',
    files: { "all.ts": 'export * from "common";\nexport const own = 1;\n' },
    packages: { "common/index.js": "exports.a = 1; exports.b = 2;" },
  },
  "import of a package compiled from TypeScript": {
    main: 'import value, { named, default as again } from "common";\nexport { value };\nexport const more = [named, again];\n',
    packages: {
      "common/index.js":
        '"use strict"; Object.defineProperty(exports, "__esModule", { value: true }); exports.named = 1; exports.default = "default";',
    },
  },
  "import of an external package compiled from TypeScript": {
    main: 'import outside, { named } from "outside-compiled";\nexport const value = [outside(), named];\n',
  },
  "dynamic import of a CommonJS package": {
    main: 'export const value = later();\nfunction later() { return import("common").then((all) => [all.default.a, all.a]); }\n',
    packages: { "common/index.js": "module.exports = { a: 1 };" },
  },
  "dynamic import of a name made at run time": {
    main: 'export const value = import(["node", "os"].join(":")).then((os) => typeof os.default.cpus);\n',
  },
  "require of a pattern": {
    ...common(""),
    packages: {
      "common/index.js": 'module.exports = ["de", "en"].map((name) => require("./locales/" + name + ".js"));',
      "common/locales/de.js": 'module.exports = "Hallo";',
      "common/locales/en.js": 'module.exports = "Hello";',
    },
  },
  "a circle of CommonJS and ES modules": {
    main: 'import { value } from "mixed";\nexport { value };\n',
    packages: {
      "mixed/package.json": '{"main": "a.mjs"}',
      "mixed/a.mjs": 'import b from "./b.cjs";\nexport const name = "a";\nexport const value = b.read();\n',
      "mixed/b.cjs": 'exports.read = () => typeof require("./a.mjs").name;',
    },
  },
  "a package that is imported and required": {
    main: 'import { state } from "both";\nimport needs from "needs-both";\nstate.n = 1;\nexport const value = needs;\n',
    packages: {
      "both/package.json":
        '{"name": "both", "exports": {"import": "./x.mjs", "require": "./x.cjs", "default": "./x.cjs"}}',
      "both/x.mjs": "export const state = { n: 0 };",
      "both/x.cjs": "exports.state = { n: 0 };",
      "needs-both/index.js": 'module.exports = require("both").state;',
    },
  },
  "imports map and browser field": {
    main: 'import value from "mapped";\nexport { value };\n',
    packages: {
      "mapped/package.json":
        '{"name": "mapped", "browser": {"./node.js": "./browser.js"}, "imports": {"#inner": {"browser": "./browser.js", "default": "./node.js"}}}',
      "mapped/index.js": 'module.exports = [require("#inner"), require("./node")];',
      "mapped/node.js": 'module.exports = "node";',
      "mapped/browser.js": 'module.exports = "browser";',
    },
  },
  "module's other properties": common(
    "module.exports = [typeof module.parent, typeof module.filename, typeof module.paths, typeof module.require];",
  ),
  "a package that patches a module of Node": {
    main: 'import "patches";\nimport { hostname } from "os";\nexport const value = hostname();\n',
    packages: { "patches/index.js": 'require("os").hostname = () => "patched";' },
  },
  "process.emitWarning": common(
    'process.noDeprecation = true; process.emitWarning("old", "DeprecationWarning"); module.exports = typeof require("util").deprecate(() => {}, "old");',
  ),
  "the package string_decoder/": {
    ...common(
      'module.exports = [require("string_decoder/"), typeof require("string_decoder").StringDecoder];',
    ),
    packages: {
      "common/index.js":
        'module.exports = [require("string_decoder/"), typeof require("string_decoder").StringDecoder];',
      "string_decoder/index.js": 'module.exports = "of npm";',
    },
  },
  "a hash bang and a byte order mark": {
    ...common(""),
    packages: {
      "common/index.js": '#!/usr/bin/env node\nmodule.exports = require("./mark");',
      "common/mark.js": '\uFEFFmodule.exports = "mark";',
    },
  },
  "names of static fields": {
    main: 'class Order { static name = "order"; static own = this.name; }\nconst Refund = class {};\nexport const value = [Order.name, Order.own, Refund.name];\n',
  },
  "a package of the AWS SDK that is not installed": {
    main: 'import { Client } from "@aws-sdk/client-of-runtime";\nimport sub from "@aws-sdk/client-of-runtime/sub.js";\nimport { core } from "@smithy/of-runtime";\nexport const value = [new Client().name, sub, core];\n',
  },
};
/** Forms that need sloppy mode. `NodejsFunction` runs them unless the project's `tsconfig.json` asks for strict mode. */
export const SLOPPY: Readonly<Record<string, Form>> = {
  "a name that is not declared": common("declared = 1; module.exports = [declared, globalThis.declared];"),
  "this of a function": common("module.exports = (function () { return typeof this; })();"),
  "this of a module in a nested function": common(
    "var self = this; (function () { (this || self).value = 1; })(); module.exports = [typeof self, globalThis.value];",
  ),
  "arguments.callee": common(
    "module.exports = (function (n) { return n > 0 ? arguments.callee(n - 1) : typeof arguments.callee; })(3);",
  ),
  "arguments that follow their parameters": common(
    "module.exports = (function (a) { a = 2; return arguments[0]; })(1);",
  ),
  "octal numbers": common('module.exports = [010, "\\101"];'),
  "writes to what cannot be written": common(
    'var frozen = Object.freeze({ a: 1 }); frozen.a = 2; "text".length = 1; undefined = 3; module.exports = frozen.a;',
  ),
  "eval that declares": common('eval("var made = 1"); module.exports = made;'),
  "a function in a block": common("{ function inner() { return 1; } } module.exports = typeof inner;"),
};
/** In strict mode a bundle with one of these forms does not load, or `NodejsFunction` makes none. */
export const SLOPPY_SYNTAX: Readonly<Record<string, Form>> = {
  with: common("with ({ a: 1 }) module.exports = a;"),
  "a parameter twice": common("module.exports = (function (a, a) { return a; })(1, 2);"),
  "delete of a name": common("var name = 1; module.exports = [delete name, name];"),
  "reserved names": common("var let = 1, static = 2, yield = 3; module.exports = [let, static, yield];"),
};
/** In a bundle of its own, because it changes how the other packages are found. */
export const REQUIRED_TWICE: Readonly<Record<string, Form>> = {
  "require of a package with two entries": {
    main: 'import value from "needs";\nexport { value };\n',
    packages: {
      ...TWO_ENTRIES,
      "needs/index.js": 'const two = require("two"); module.exports = [two(), two.named];',
    },
  },
};
/** `NodejsFunction` cannot run these forms. */
export const OURS_ALONE: Readonly<Record<string, Form>> = {
  "import.meta": {
    main: 'import { fileURLToPath } from "node:url";\nexport const value = fileURLToPath(import.meta.url) === import.meta.filename;\n',
  },
  createRequire: {
    main: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\nexport const value = require("os").EOL;\n',
  },
  "import.meta.resolve": {
    main: 'const { resolve, main } = import.meta;\nexport const value = [resolve("./x.txt") === new URL("./x.txt", import.meta.url).href, resolve("outside").endsWith("/outside/index.js"), main];\n',
  },
  "own importMeta": {
    main: "const importMeta = import.meta;\nexport const value = importMeta.filename === importMeta.url.slice(7);\n",
  },
  "own __dirname": {
    main: 'import { dirname } from "node:path";\nimport { fileURLToPath } from "node:url";\nconst __filename = fileURLToPath(import.meta.url);\nconst __dirname = dirname(__filename);\nexport const value = __dirname === import.meta.dirname;\n',
  },
};

/** In a bundle of its own, because esbuild reports `import.meta` of packages in another way than that of the app. */
export const META_OF_PACKAGE: Readonly<Record<string, Form>> = {
  "import.meta of a package": {
    main: 'import value from "uses-meta";\nexport { value };\n',
    packages: {
      "uses-meta/package.json": '{"type": "module", "exports": "./index.js"}',
      "uses-meta/index.js":
        'export default new URL(".", import.meta.url).pathname === import.meta.dirname + "/";',
    },
  },
};
/** Files of handlers that are CommonJS, by their names. */
export const COMMON_JS_ENTRIES: Readonly<Record<string, string>> = {
  "exports.js": "exports.handler = async () => [typeof module, typeof this];",
  "module.cjs": "module.exports = { handler: async () => require('os').EOL };",
  "later.js": "module.exports = {}; module.exports.handler = async () => __filename.length > 0;",
  "typed.cts": 'import os = require("os");\nexport = { handler: async (): Promise<string> => os.EOL };',
  "module.cts": 'export const handler = async (): Promise<string> => "exported";',
  "typed.ts": "const handler = async (): Promise<number> => 1;\nmodule.exports = { handler };",
  "spread.js": "const all = { handler: async () => 2 }; Object.assign(exports, all);",
  "sloppy.js": "declared = 3; exports.handler = async () => declared;",
};
