import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createInputs, type Inputs } from "../../../local/app/inputs.ts";
import { asAnotherUser } from "../another-user.ts";

const LATER = Number.POSITIVE_INFINITY;
let root: string;
let app: string;
let inputs: Inputs;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-inputs-")));
  app = write("app.ts", "app");
  inputs = createInputs();
  inputs.follow([app], LATER);
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

test("a saved, a deleted and a new input are found once, and no other file", () => {
  write("scratch.ts", "");
  write("app.ts", "other");
  expect(inputs.look()).toEqual({ changed: [app], touched: [] });
  expect(inputs.look()).toEqual({ changed: [], touched: [] });
  rmSync(app);
  expect(inputs.look().changed).toEqual([app]);
  write("app.ts", "app");
  expect(inputs.look().changed).toEqual([app]);
});

test("a save with the same content is told apart", () => {
  utimesSync(app, 1, 1);
  expect(inputs.look()).toEqual({ changed: [], touched: [app] });
  renameSync(write("draft", "app"), app);
  expect(inputs.look()).toEqual({ changed: [], touched: [app] });
});

test("an old file that a tool puts back with its old time is found", () => {
  const { mtime } = statSync(app);
  write("app.ts", "pap");
  utimesSync(app, mtime, mtime);
  expect(inputs.look().changed).toEqual([app]);
});

test("a file that was saved since its build began counts as changed, and an earlier one does not", () => {
  const [first, second] = [write("first.ts", ""), write("second.ts", "")];
  inputs.follow([app, first], statSync(first).ctimeMs);
  inputs.follow([app, first, second], statSync(second).ctimeMs + 1000);
  expect(inputs.look()).toEqual({ changed: [first], touched: [] });
});

test("the list is replaced, and what is known of its files stays", () => {
  const other = write("other.ts", "");
  write("app.ts", "other");
  inputs.follow([app, other], LATER);
  expect(inputs.look().changed).toEqual([app]);
  inputs.follow([other], LATER);
  write("app.ts", "third");
  expect(inputs.look().changed).toEqual([]);
  expect([app, other].map(inputs.has)).toEqual([false, true]);
});

test("the folders are those of the files; for a missing folder, the one in which it would appear", () => {
  const missing = join(root, "others/money/round.ts");
  inputs.follow([join(root, "lib/a.ts"), missing], LATER);
  expect(inputs.folders()).toEqual(new Set([root]));
  expect(inputs.look().changed).toEqual([]);
  write("others/money/round.ts", "");
  expect(inputs.folders()).toEqual(new Set([root, dirname(missing)]));
  expect(inputs.look().changed).toEqual([missing]);
});

test("a file that this user may not read counts as missing", () => {
  write("key.ts", "key");
  const look = asAnotherUser(root, ["key.ts"], () => {
    inputs.follow(["key.ts"], LATER);
    return inputs.look();
  });
  expect(look).toEqual({ changed: [], touched: [] });
});
