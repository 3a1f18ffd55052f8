import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packageManagerOf, workspaceOf } from "../../src/general/package-manager.ts";

let root: string;
let folder: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-manager-"));
  folder = join(root, "apps", "shop");
  mkdirSync(folder, { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

test.each([
  ["package-lock.json", "npx"],
  ["pnpm-lock.yaml", "pnpm exec"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bunx"],
  ["bun.lockb", "bunx"],
])("%s says that programs run by %s", (lock, exec) => {
  writeFileSync(join(folder, lock), "");
  expect(packageManagerOf(folder)).toMatchObject({ exec });
});

test.each([
  ["package.json", '{"workspaces":["apps/*"]}'],
  ["pnpm-workspace.yaml", "packages: ['apps/*']"],
])("the lock file of the workspace counts: %s", (file, text) => {
  writeFileSync(join(root, file), text);
  writeFileSync(join(root, "pnpm-lock.yaml"), "");
  expect(packageManagerOf(folder)).toMatchObject({ install: "pnpm install" });
  expect(workspaceOf(folder)).toBe(root);
});

test("a lock file above a folder that is in no workspace counts for nothing", () => {
  writeFileSync(join(root, "package.json"), "{}");
  writeFileSync(join(root, "yarn.lock"), "");
  expect(packageManagerOf(folder)).toMatchObject({ install: "npm install" });
  expect(workspaceOf(folder)).toBeUndefined();
});
