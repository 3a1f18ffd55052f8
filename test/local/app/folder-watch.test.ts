import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFolders } from "../../../local/app/folder-watch.ts";

let root: string;
let folders: string[];
let told: number;
let lines: string[];
let stop: () => void;
/** The call that waits since the last save, until it is cancelled. */
let due: (() => void) | undefined;
let waits: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-watch-"));
  mkdirSync(join(root, "handlers"));
  folders = [root];
  [told, waits, lines, due] = [0, 0, [], undefined];
  stop = watchFolders({
    onSaved: async () => {
      told += 1;
    },
    isInput: (path) => path.endsWith(".ts"),
    folders: () => new Set(folders),
    log: (line) => lines.push(line),
    after: (_, act) => {
      waits += 1;
      due = act;
      return () => (due = undefined);
    },
  });
});
afterEach(() => {
  stop();
  rmSync(root, { recursive: true, force: true });
});

const save = (name: string, text = "x") => writeFileSync(join(root, name), text);
const noticed = () => expect.poll(() => due !== undefined, { interval: 5 }).toBe(true);
/** Ends the wait. */
async function pass(): Promise<void> {
  const act = due;
  due = undefined;
  act?.();
  await Promise.resolve();
  await Promise.resolve();
}
/** Resolves once the watch has seen what another watch of the folder sees. */
async function sameSeenBy(folder: string, act: () => void): Promise<void> {
  const other = watch(join(root, folder));
  const seen = once(other, "change");
  act();
  await seen;
  other.close();
}

test("a new watch looks once, for what was saved before it began", async () => {
  await pass();
  expect(told).toBe(1);
  expect(due).toBeUndefined();
});

test("the wait begins again with each save of an input", async () => {
  await pass();
  for (let count = 1; count <= 3; count++) {
    const before = waits;
    save("app.ts", `${count}`);
    await expect.poll(() => waits, { interval: 5 }).toBeGreaterThan(before);
  }
  await pass();
  expect(told).toBe(2);
});

test("the wait does not begin again while a log grows", async () => {
  await pass();
  save("out.txt");
  await noticed();
  const before = waits;
  await sameSeenBy(".", () => save("out.txt", "more"));
  expect(waits).toBe(before);
});

test("folders that are new in the list are watched, and others no more", async () => {
  folders = [join(root, "handlers")];
  await pass();
  // The watch of the new folder has just begun, so the files are looked at once more.
  await pass();
  expect(due).toBeUndefined();
  await sameSeenBy(".", () => save("app.ts"));
  expect(due).toBeUndefined();
  save("handlers/mail.ts");
  await noticed();
});

test("a folder that was deleted and made again is watched", async () => {
  folders = [root, join(root, "handlers")];
  for (let count = 0; count < 3; count++) await pass();
  rmSync(join(root, "handlers"), { recursive: true });
  mkdirSync(join(root, "handlers"));
  await noticed();
  await pass();
  await pass();
  // Events of the old folder may still come.
  await sameSeenBy("handlers", () => save("handlers/first.ts"));
  while (due !== undefined) await pass();
  save("handlers/mail.ts");
  await noticed();
});

test("a folder that cannot be watched is logged once", async () => {
  folders = [root, join(root, "gone")];
  for (let count = 0; count < 3; count++) await pass();
  save("app.ts");
  await noticed();
  await pass();
  expect(lines).toEqual([expect.stringMatching(/^saves in .*gone are not noticed: ENOENT/)]);
});

test("after a stop no save is told", async () => {
  await pass();
  save("app.ts");
  await noticed();
  stop();
  expect(due).toBeUndefined();
});
