import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROOT } from "../deploy/environment.ts";
import { faultsIn, KINDS } from "./contents.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-contents-"));
  const built = ["index.html", "console-1.js", "console-1.css"].map(
    (name) => `dist/npm/console/built/${name}`,
  );
  const documents = ["LICENSE", "README.md", "CHANGELOG.md"];
  for (const file of [...documents, "dist/npm/client.js", "dist/npm/client.d.ts", ...built]) write(file, "");
  write("package.json", '{"scripts":{"prepack":"x"}}');
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

test("a package of code, types, documents and a licence has no fault", () => {
  expect(faultsIn(folder)).toEqual([]);
});

test("the package may have each file of the examples and the documentation", () => {
  const listed = execFileSync("git", ["ls-files", "-z", "examples", "docs"], { cwd: ROOT, encoding: "utf8" });
  const files = listed.split("\0").filter((file) => file !== "");
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !KINDS.test(file))).toEqual([]);
});

test.each([
  ["dist/npm/client.ts", "", "dist/npm/client.ts is no part of a package"],
  ["dist/npm/console/page/style.css", "", "dist/npm/console/page/style.css is no part of a package"],
  ["dist/npm/client.js.map", "", "dist/npm/client.js.map is no part of a package"],
  ["dist/npm/test/client.js", "", "dist/npm/test/client.js is a test"],
  ["package.json", '{"scripts":{"postinstall":"x"}}', "postinstall runs at an install"],
  [
    "dist/npm/client.js",
    `${tmpdir()}/x`,
    `dist/npm/client.js contains ${tmpdir()}, a path or name of this machine`,
  ],
  ["dist/npm/client.js", "x".repeat(11 * 1024 * 1024), "the package has 11.0 MiB; allowed: 10"],
])("finds a fault in %s", (file, text, fault) => {
  write(file, text);
  expect(faultsIn(folder)).toContain(fault);
});

test.each(["LICENSE", "dist/npm/console/built/index.html"])("finds that %s is missing", (file) => {
  rmSync(join(folder, file));
  expect(faultsIn(folder)).toEqual([`${file} is missing`]);
});
