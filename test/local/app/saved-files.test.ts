import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSavedFiles } from "../../../local/app/saved-files.ts";
import { rememberOutput } from "../../../local/own-output.ts";
import { asAnotherUser } from "../another-user.ts";

let top: string;
let root: string;
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-saved-")));
  root = join(top, "packages", "app");
  write("packages/app/app.ts", "app");
  write("packages/shared/index.ts", "shared");
});
afterEach(() => rmSync(top, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(top, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}
const never = () => false;

test("saved, new and gone files are found once", () => {
  const files = createSavedFiles({ root }, never);
  const saved = write("packages/app/app.ts", "other");
  const added = write("packages/app/new/mail.ts", "");
  expect(files.changes()).toEqual(
    new Map([
      [saved, "saved"],
      [added, "new"],
    ]),
  );
  expect(files.changes().size).toBe(0);
  rmSync(added);
  expect(files.changes()).toEqual(new Map([[added, "gone"]]));
});

test("files that this user may not read are reported, and saves of other files are found", () => {
  write("packages/app/keys/key.ts", "key");
  chmodSync(join(root, "app.ts"), 0o666);
  const unreadable: string[] = [];
  // The user may list the folder, and may not look at its files.
  const found = asAnotherUser(
    root,
    ["keys"],
    () => {
      const files = createSavedFiles({ root: ".", onUnreadable: (path) => unreadable.push(path) }, never);
      writeFileSync("app.ts", "other");
      return files.changes();
    },
    0o444,
  );
  expect(found).toEqual(new Map([["app.ts", "saved"]]));
  expect(new Set(unreadable)).toEqual(new Set(["keys/key.ts"]));
});

test("a save with the same content is no change", () => {
  const files = createSavedFiles({ root }, never);
  utimesSync(join(root, "app.ts"), 1, 1);
  write("packages/app/draft", "app");
  renameSync(join(root, "draft"), join(root, "app.ts"));
  expect(files.changes().size).toBe(0);
});

test("files outside the app are found beside the inputs of handlers, also new ones in new folders", () => {
  const files = createSavedFiles({ root }, never);
  const shared = join(top, "packages/shared/index.ts");
  files.addInputs([shared]);
  expect(files.changes().size).toBe(0);
  expect(files.folders()).toEqual([root, join(top, "packages/shared")]);
  write("packages/shared/index.ts", "changed");
  const added = write("packages/shared/more/a.ts", "");
  const other = write("packages/other/b.ts", "");
  expect([...files.changes().keys()].sort()).toEqual([shared, added]);
  expect(files.has(other)).toBe(false);
});

test("a file that is missing together with its folder is found when it appears", () => {
  const files = createSavedFiles({ root }, never);
  const missing = join(top, "others/money/round.ts");
  files.addInputs([missing]);
  expect(files.folders()).toEqual([root, top]);
  expect(files.changes().size).toBe(0);
  write("others/money/round.ts", "");
  expect(files.changes()).toEqual(new Map([[missing, "new"]]));
  expect(files.folders()).toEqual([root, join(top, "others/money")]);
});

test("an input that a tool has built into a folder of output counts too", () => {
  const built = write("packages/app/dist/built.js", "1");
  const files = createSavedFiles({ root }, never);
  files.addInputs([built]);
  write("packages/app/dist/built.js", "2");
  expect(files.changes()).toEqual(new Map([[built, "saved"]]));
});

test("in a folder above the app's folder, only the files directly in it count", () => {
  const common = write("common.ts", "1");
  write("other/big.ts", "1");
  const files = createSavedFiles({ root }, never);
  files.addInputs([common]);
  expect(files.folders()).toEqual([root, top]);
});

test("in node_modules, only npm's list of installed packages counts", () => {
  const list = write("node_modules/.package-lock.json", "1");
  write("node_modules/x/index.js", "1");
  const files = createSavedFiles({ root }, never);
  files.addInputs([list]);
  write("node_modules/.package-lock.json", "2");
  write("node_modules/x/index.js", "2");
  expect(files.changes()).toEqual(new Map([[list, "saved"]]));
});

test("a file with the runner's own output is ignored, whatever its name is", () => {
  const output = rememberOutput();
  const log = output.remember(() => {});
  const files = createSavedFiles({ root }, output.isIn);
  log("saved app.ts: nothing has changed");
  const copy = write("packages/app/out.txt", "before\nsaved app.ts: nothing has changed\n");
  expect(files.changes().size).toBe(0);
  write("packages/app/out.txt", "anything");
  rmSync(copy);
  expect(files.changes().size).toBe(0);
});
