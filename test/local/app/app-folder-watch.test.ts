import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchAppFolder } from "../../../local/app/app-folder-watch.ts";

let root: string;
let stopWatching: () => void;
/** The call that waits since the last save, until it is cancelled. */
let due: (() => void) | undefined;
let waits: number;
let told: number;
let lines: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-watch-"));
  for (const folder of ["handlers", "node_modules/x", ".git", "data"])
    mkdirSync(join(root, folder), { recursive: true });
  [due, waits, told] = [undefined, 0, 0];
  lines = [];
  const excluded = new Set([join(root, "data"), join(root, "runner.json")]);
  stopWatching = watchAppFolder(
    { root, excluded },
    {
      onSaved: () => {
        told += 1;
      },
      log: (line) => lines.push(line),
      after: (_, act) => {
        waits += 1;
        due = act;
        return () => {
          due = undefined;
        };
      },
    },
  );
});
afterEach(() => {
  stopWatching();
  rmSync(root, { recursive: true });
  expect(lines).toEqual([]);
});

const save = (name: string, text = "x") => writeFileSync(join(root, name), text);
const noticed = () => expect.poll(() => due !== undefined, { interval: 5 }).toBe(true);
function pass(): void {
  const act = due;
  due = undefined;
  act?.();
}

test("saves in a row are reported once, after the last of them", async () => {
  save("handlers/mail.ts");
  await noticed();
  const before = waits;
  save("app.ts");
  await expect.poll(() => waits, { interval: 5 }).toBeGreaterThan(before);
  expect(told).toBe(0);
  pass();
  expect(told).toBe(1);
});

test("a new folder is watched too", async () => {
  mkdirSync(join(root, "handlers", "bank"));
  await noticed();
  pass();
  save("handlers/bank/refund.ts");
  await noticed();
});

test("build output is not noticed", async () => {
  // When another watcher of the folder has seen the change, the app's watcher would have seen it too.
  const other = watch(join(root, "node_modules"), { recursive: true });
  save(".git/index");
  save("node_modules/x/index.js");
  await once(other, "change");
  other.close();
  expect(waits).toBe(0);
});

test("a log in the folder is not noticed", async () => {
  const other = watch(root);
  save("local.log");
  await once(other, "change");
  other.close();
  expect(waits).toBe(0);
});

test("files of the runner are not noticed", async () => {
  const other = watch(root);
  save("data/messages");
  save("runner.json");
  await once(other, "change");
  other.close();
  expect(waits).toBe(0);
});

test("a folder that cannot be watched is logged, and the watch goes on", async () => {
  rmSync(root, { recursive: true });
  writeFileSync(root, "no folder any more");
  await noticed();
  pass();
  expect(told).toBe(1);
  expect(lines.splice(0)).toEqual([expect.stringMatching(/^saves in new folders are not noticed: ENOTDIR/)]);
});

test("after a stop no save is reported", async () => {
  save("app.ts");
  await noticed();
  stopWatching();
  expect(due).toBeUndefined();
});

test("a folder that a reload adds is watched too, and the files are looked at once more", async () => {
  stopWatching();
  const outer = join(root, "node_modules/x");
  let folders = [root];
  stopWatching = watchAppFolder(
    { root },
    {
      onSaved: async () => {
        told += 1;
        folders = [root, outer];
      },
      folders: () => folders,
      log: (line) => lines.push(line),
      after: (_, act) => {
        due = act;
        return () => {
          due = undefined;
        };
      },
    },
  );
  save("app.ts");
  await noticed();
  pass();
  await noticed();
  pass();
  expect(told).toBe(2);
  await Promise.resolve();
  expect(due).toBeUndefined();
  save("node_modules/x/index.js");
  await noticed();
});
