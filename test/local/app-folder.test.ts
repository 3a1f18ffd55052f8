import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appFolders, hashFolder } from "../../local/app-folder.ts";

const NOBODY = 65_534;

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "minutehand-"));
  for (const folder of ["handlers", "data/sqs"]) mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "handlers", "mail.ts"), "");
});
afterEach(() => rmSync(root, { recursive: true }));

test("files that the runner writes in the folder are no part of the app", () => {
  const sources = { root, excluded: new Set([join(root, "data"), join(root, "runner.json")]) };
  const before = hashFolder(sources);
  writeFileSync(join(root, "data", "sqs", "messages"), "one more");
  writeFileSync(join(root, "runner.json"), "{}");
  expect(hashFolder(sources)).toBe(before);
  expect(appFolders(sources)).toEqual([root, join(root, "handlers")]);
  writeFileSync(join(root, "handlers", "mail.ts"), "changed");
  expect(hashFolder(sources)).not.toBe(before);
});

test("unreadable paths are reported, and the other files count", () => {
  const unreadable = new Set<string>();
  mkdirSync(join(root, "volume"), { mode: 0o700 });
  writeFileSync(join(root, "handlers", "key.pem"), "", { mode: 0o600 });
  const [folders, hash] = asAnotherUser(["volume", "handlers/key.pem"], () => {
    const sources = { root: ".", onUnreadable: (path: string) => unreadable.add(path) };
    return [appFolders(sources), hashFolder(sources)];
  });
  expect(unreadable).toEqual(new Set(["volume", "handlers/key.pem"]));
  expect(folders).toEqual([".", "data", "data/sqs", "handlers"]);
  expect(hash).toMatch(/^[0-9a-f]{32}$/);
});

/** Runs `act` in the folder as a user who cannot read these paths. */
function asAnotherUser<T>(paths: readonly string[], act: () => T): T {
  const isRoot = process.geteuid?.() === 0;
  const cwd = process.cwd();
  // The user may have no access to the folders above, so paths are relative.
  process.chdir(root);
  chmodSync(".", 0o755);
  if (isRoot) process.seteuid?.(NOBODY);
  else for (const path of paths) chmodSync(path, 0);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid?.(0);
    else for (const path of paths) chmodSync(path, 0o700);
    process.chdir(cwd);
  }
}
