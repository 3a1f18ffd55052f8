import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HASH_FILE, PICTURES, pageHash } from "../browser/pictures/page-hash.ts";

test("the pictures of the console show the page as it is now", () => {
  const advice =
    "the page has changed since its pictures were made: run npm run pictures, look at them, and commit them";
  expect(readFileSync(HASH_FILE, "utf8").trim(), advice).toBe(pageHash());
});

test("the pictures of the console are small", () => {
  const pictures = globSync("console-*.png", { cwd: PICTURES });
  expect(pictures.length).toBeGreaterThan(0);
  const large = pictures.filter((name) => statSync(join(PICTURES, name)).size > 120_000);
  expect(large).toEqual([]);
});
