import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDataFolder } from "../../local/data-folder.ts";
import { LocalError } from "../../local/local-error.ts";
import { runnerRecord } from "../support/runner-record.ts";
import { asAnotherUser } from "./another-user.ts";

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

describe("no other user can read what is in the data folder,", () => {
  const mode = (path: string) => statSync(path).mode & 0o777;
  const NAMES = [
    "dynamodb.sqlite",
    "schedules.sqlite-wal",
    "secrets.json",
    "runner.json",
    "event-sources.json",
  ];
  let umask: number;
  beforeEach(() => {
    umask = process.umask(0);
  });
  afterEach(() => process.umask(umask));

  function fill(path: string): void {
    mkdirSync(join(path, "sqs", "queue"), { recursive: true });
    chmodSync(path, 0o777);
    for (const name of NAMES) writeFileSync(join(path, name), "{}");
    expect([path, join(path, "sqs"), join(path, "secrets.json")].map(mode)).toEqual([0o777, 0o777, 0o666]);
  }

  test("whatever the umask is", () => {
    const path = join(dir, "new", "data");
    const { writeRecord, release } = openDataFolder(path, false);
    writeRecord(RECORD);
    expect([path, join(path, "lock"), join(path, "runner.json")].map(mode)).toEqual([0o700, 0o600, 0o600]);
    release();
  });

  test("although the folder and its files were open to all before", () => {
    fill(dir);
    const { release } = openDataFolder(dir, false);
    expect([dir, join(dir, "sqs")].map(mode)).toEqual([0o700, 0o700]);
    for (const name of NAMES) expect([name, mode(join(dir, name))]).toEqual([name, 0o600]);
    release();
  });

  test("also if the folder holds files of the user, which stay as they are", () => {
    fill(dir);
    writeFileSync(join(dir, "app.ts"), "");
    const { release } = openDataFolder(dir, false);
    expect([dir, join(dir, "app.ts")].map(mode)).toEqual([0o777, 0o666]);
    expect([join(dir, "sqs"), join(dir, "lock")].map(mode)).toEqual([0o700, 0o600]);
    for (const name of NAMES) expect([name, mode(join(dir, name))]).toEqual([name, 0o600]);
    release();
  });

  test("also if a folder .minutehand holds files of the user", () => {
    const path = join(dir, ".minutehand");
    fill(path);
    writeFileSync(join(path, "notes.md"), "");
    openDataFolder(path, false).release();
    expect(mode(path)).toBe(0o700);
  });
});

const RECORD = runnerRecord({ pid: 1 });

test.skipIf(process.geteuid?.() !== 0)(
  "a folder of another user is refused, also if it holds files of that user and all may write into it",
  () => {
    writeFileSync(join(dir, "app.ts"), "");
    chmodSync(dirname(dir), 0o711);
    const open = () => openDataFolder(dir, false);
    expect(() => asAnotherUser(dir, ["."], open, 0o777)).toThrow(`the data folder ${dir} must be yours`);
    chmodSync(dirname(dir), 0o700);
    expect(readdirSync(dir)).toEqual(["app.ts"]);
  },
);

test("a link that another user has left is replaced, and what it names is not written", () => {
  const precious = join(dir, "precious");
  writeFileSync(precious, "precious");
  for (const name of ["runner.json", "runner.json.new"]) symlinkSync(precious, join(dir, name));
  const { writeRecord, release } = openDataFolder(dir, false);
  writeRecord(RECORD);
  expect(readFileSync(precious, "utf8")).toBe("precious");
  expect(JSON.parse(readFileSync(join(dir, "runner.json"), "utf8"))).toEqual(RECORD);
  release();
});

test("a folder on a full disk is refused and left unchanged, and the error names the disk", () => {
  const full = (path: string) => `the disk of ${path} is full`;
  expect(() => openDataFolder(dir, true, full)).toThrow(new LocalError(`the disk of ${dir} is full`));
  expect(readdirSync(dir)).toEqual([]);
});
