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
import { afterEach, beforeEach, expect, test } from "vitest";
import { optionsFor } from "../../../infra/bundling/bundle.ts";
import { rebuildFunction } from "../../../local/app/rebuild.ts";
import { functionSpec } from "../stacks.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-rebuild-")));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(root, name), text);
const rebuild = (spec = functionSpec("Mail"), name = "built") =>
  rebuildFunction(spec, optionsFor(join(root, "mail.ts"), root), { folder: join(root, name), root });

test("a handler is bundled with its inputs, and the same code keeps its folder", async () => {
  write("name.ts", 'export const name = "ada";');
  write("mail.ts", 'import { name } from "./name.ts";\nexport const handler = () => name;');
  const first = await rebuild();
  if ("failure" in first) throw new Error(first.failure);
  expect(first.spec).toMatchObject({ codeDir: join(root, "built") });
  expect(first.spec.bundle?.inputs).toEqual([join(root, "name.ts"), join(root, "mail.ts")]);
  expect(readFileSync(join(root, "built", "index.cjs"), "utf8")).toContain("ada");
  write("mail.ts", 'import { name } from "./name.ts";\n// more\nexport const handler = () => name;');
  const again = await rebuild(first.spec, "again");
  expect(again).toEqual(first);
  expect(existsSync(join(root, "again"))).toBe(false);
});

test.each([
  ["CommonJS", "exports.handler = () => 1;", ["index.cjs"]],
  ["an ES module because it awaits", "export const handler = await (() => 1);", ["index.mjs"]],
  [
    "CommonJS with a package of Lambda's runtime",
    'import "@aws-sdk/client-made-up";\nexport const handler = 1;',
    ["index.cjs"],
  ],
])("a handler may be %s", async (_, text, files) => {
  write("mail.ts", text);
  const rebuilt = await rebuild();
  expect(rebuilt).not.toHaveProperty("failure");
  expect(readdirSync(join(root, "built"))).toEqual(files);
});

test.each([
  ["export const handler = (;", 'mail.ts:1:25: Unexpected ";"'],
  ['import "./gone.ts";\nexport const handler = 1;', 'mail.ts:1:8: Could not resolve "./gone.ts"'],
  ["export const other = 1;", 'mail.ts exports no "handler"'],
])("what is wrong with %s is said with file, line and column", async (text, failure) => {
  write("mail.ts", text);
  expect(await rebuild()).toMatchObject({ failure });
  expect(existsSync(join(root, "built"))).toBe(false);
});

test.each([
  ["a file that does not compile", "./bad.ts", ["bad.ts"]],
  ["a file that is missing", "./gone/a.ts", ["mail.ts", "gone/a.ts"]],
  ["a file that is named as its JavaScript", "./gone.js", ["mail.ts", "gone.js", "gone.ts"]],
  ["a package that is missing", "not-installed", ["mail.ts", "node_modules/.package-lock.json"]],
])("a failure names the files that may have to be saved to repair it: %s", async (_, path, inputs) => {
  mkdirSync(join(root, "node_modules"));
  write("bad.ts", "export const x = (;");
  write("mail.ts", `import "${path}";\nexport const handler = 1;`);
  const rebuilt = await rebuild();
  expect("inputs" in rebuilt && rebuilt.inputs).toEqual(
    expect.arrayContaining(inputs.map((path) => join(root, path))),
  );
});
