import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { codeFiles } from "../../../local/app/sources.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-sources-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

test("only code counts, and neither tests, packages, build output nor hidden folders", () => {
  write("app.ts", "lambda/mail.py", "src/a/b.mjs", "README.md", "app.test.ts", "a.spec.js", "shop-0.1.0.tgz");
  write(
    "minutehand.topics.json",
    "dist/app.js",
    "cdk.out/x.js",
    "node_modules/x/x.js",
    ".git/x.js",
    "run.log",
  );
  write("src/node_modules/x/x.js");
  expect(codeFiles(root).sort()).toEqual(
    ["app.ts", "lambda/mail.py", "src/a/b.mjs"].map((path) => join(root, path)),
  );
});

test("tests of Python count as little as others, nor do virtual environments and what `template --out` has written", () => {
  write("functions/send.py", "functions/test_send.py", "functions/send_test.py", "conftest.py");
  write("tests/test_clock.py", "tests/clock.py", "venv/lib/x.py", "functions/__pycache__/x.py");
  write("build/deploy/written.json", "build/deploy/functions/webhook/index.mjs");
  expect(codeFiles(root)).toEqual([join(root, "functions/send.py")]);
});
