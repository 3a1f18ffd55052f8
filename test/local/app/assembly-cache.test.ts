import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAssemblyHolder, dropUnusedAssemblies } from "../../../local/app/assembly-cache.ts";

const HOUR_MS = 3_600_000;

let cache: string;

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "minutehand-"));
  for (const name of ["one", "two"]) mkdirSync(join(cache, name, "asset.x"), { recursive: true });
});
afterEach(() => rmSync(cache, { recursive: true }));

const code = (name: string) => join(cache, name, "asset.x");
function left(hours = 2): string[] {
  dropUnusedAssemblies(cache, Date.now() + hours * HOUR_MS);
  return readdirSync(cache).filter((name) => !name.startsWith("holder"));
}

test("an assembly that functions run from is kept, however old it is", () => {
  const { hold, release } = createAssemblyHolder(cache, process.pid);
  hold([code("two"), code("two")]);
  expect(left(1000)).toEqual(["two"]);
  release();
  expect(left()).toEqual([]);
});

test("an unused assembly is kept for an hour", () => {
  expect(left(0.9)).toEqual(["one", "two"]);
  expect(left(1.1)).toEqual([]);
});

test("a runner holds only the assemblies that its functions run from now, and other runners hold theirs", () => {
  const [first, second] = [
    createAssemblyHolder(cache, process.pid),
    createAssemblyHolder(cache, process.pid),
  ];
  first.hold([code("one")]);
  second.hold([code("two")]);
  first.hold([code("two")]);
  expect(left()).toEqual(["two"]);
  first.release();
  expect(left()).toEqual(["two"]);
});

test("nothing is deleted while the list of another runner is half-written or cannot be read", () => {
  const holder = join(cache, `holder.${process.pid}.1.json`);
  for (const half of ["", '["on']) {
    writeFileSync(holder, half);
    expect(left()).toEqual(["one", "two"]);
  }
  rmSync(holder);
  mkdirSync(holder);
  expect(left()).toEqual(["one", "two"]);
  rmSync(holder, { recursive: true });
  expect(left()).toEqual([]);
});

test("a dead runner holds nothing", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  createAssemblyHolder(cache, pid).hold([code("one")]);
  expect(left()).toEqual([]);
  expect(readdirSync(cache)).toEqual([]);
});
