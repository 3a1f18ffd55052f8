import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appFolders, hashFolder } from "../../../local/app/app-folder.ts";
import { asAnotherUser } from "../another-user.ts";

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
  const [folders, hash] = asAnotherUser(root, ["volume", "handlers/key.pem"], () => {
    const sources = { root: ".", onUnreadable: (path: string) => unreadable.add(path) };
    return [appFolders(sources), hashFolder(sources)];
  });
  expect(unreadable).toEqual(new Set(["volume", "handlers/key.pem"]));
  expect(folders).toEqual([".", "data", "data/sqs", "handlers"]);
  expect(hash).toMatch(/^[0-9a-f]{32}$/);
});
