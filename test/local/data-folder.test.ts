import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDataFolder } from "../../local/data-folder.ts";
import { LocalError } from "../../local/local-error.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "minutehand-"));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("a reset deletes the data of earlier runs, but neither secrets nor files of the user", () => {
  const dropped = ["dynamodb.sqlite", "dynamodb.sqlite-wal", "schedules.sqlite", "schedules.sqlite-shm"];
  const kept = ["dynamodb.sqlite.backup", "event-sources.json.md", "secrets.json", "sqs-worker", "sqs.ts"];
  for (const name of [...dropped, "sqs", "event-sources.json", ...kept]) writeFileSync(join(dir, name), "");
  const { release } = openDataFolder(dir, true);
  expect(readdirSync(dir).filter((name) => !name.startsWith("lock"))).toEqual(kept);
  release();
});

test("only its owner can open a new folder, which holds the bodies of jobs", () => {
  const path = join(dir, "new", "data");
  openDataFolder(path, false).release();
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test("a folder on a full disk is refused and left unchanged, and the error names the disk", () => {
  const full = (path: string) => `the disk of ${path} is full`;
  expect(() => openDataFolder(dir, true, full)).toThrow(new LocalError(`the disk of ${dir} is full`));
  expect(readdirSync(dir)).toEqual([]);
});
