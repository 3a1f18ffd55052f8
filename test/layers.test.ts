import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { brokenImports } from "../tools/layers.ts";

/** What is wrong with a repository that has just this file. */
function brokenIn(file: string, text: string): string[] {
  const root = mkdtempSync(join(tmpdir(), "layers-"));
  mkdirSync(join(root, dirname(file)), { recursive: true });
  writeFileSync(join(root, file), text);
  return brokenImports(root, [file]).map(({ imports, rule }) => `${imports}: ${rule}`);
}

test.each([
  ["src/core/a.ts", 'import { b } from "../general/b.ts";'],
  ["src/http/routes/a.ts", 'import { b } from "../b.ts";'],
  ["src/protocol/run/a.ts", 'import type { B } from "../ports.ts";'],
  ["src/aws/a.ts", 'import { SQSClient } from "@aws-sdk/client-sqs";'],
  ["test/core/a.ts", 'import { b } from "../../src/aws/b.ts";'],
])("%s may do: %s", (file, text) => {
  expect(brokenIn(file, text)).toEqual([]);
});

test.each([
  ["src/general/a.ts", 'import { b } from "../core/b.ts";', "../core/b.ts: general may import only general"],
  [
    "src/general/a.ts",
    'import type { B } from "../core/b.ts";',
    "../core/b.ts: general may import only general",
  ],
  ["src/general/a.ts", 'export { b } from "../core/b.ts";', "../core/b.ts: general may import only general"],
  ["src/general/a.ts", 'await import("../core/b.ts");', "../core/b.ts: general may import only general"],
  [
    "src/protocol/store/a.ts",
    'import { b } from "../gate/b.ts";',
    "../gate/b.ts: protocol/store may import only protocol/store, protocol, core, general",
  ],
  [
    "src/http/a.ts",
    'import "@aws-sdk/client-sqs";',
    "@aws-sdk/client-sqs: only aws and local import the AWS SDK",
  ],
  ["src/cellar/a.ts", 'import "../core/b.ts";', "../core/b.ts: room cellar is not named in layers.ts"],
])("%s may not do: %s", (file, text, broken) => {
  expect(brokenIn(file, text)).toEqual([broken]);
});
