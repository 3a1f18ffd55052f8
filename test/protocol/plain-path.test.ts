import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The files that a section of protocol/README.md names first in the rows of its table, in order. */
function filesIn(title: string): string[] {
  const readme = readFileSync(`${root}protocol/README.md`, "utf8");
  const [, section = ""] = readme.split(`## ${title}\n`);
  const [rows = ""] = section.split("\n## ");
  return [...rows.matchAll(/^\| `([\w./-]+\.ts)`/gm)].map(([, file = ""]) => file);
}

test("a plain job goes through the files that protocol/README.md names, and no more than 25 of them have to be opened", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [`${root}test/support/plain-path.ts`]);
  const ran: string[] = JSON.parse(stdout);
  const path = filesIn("The plain path, file by file");
  const asides = filesIn("What the plain path only passes");
  expect(path.length).toBeGreaterThan(0);
  expect(path.length).toBeLessThanOrEqual(25);
  expect(new Set(path).size).toBe(path.length);
  // These files have rules without I/O, whose names say what they answer, so they need not be opened.
  const rules = /^(?:core|general)\//;
  expect(ran.filter((file) => !rules.test(file))).toEqual([...path, ...asides].sort());
});
