import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** How many files may have a function that runs for a plain job. Lower this number whenever the path gets shorter. */
const MOST_FILES = 57;
/** How many of them a reader must open to follow the job. */
const MOST_OPENED = 25;
/** These files have rules without I/O, whose names say what they answer. */
const RULES = /^src\/(?:core|settings|general)\//;

/** The files that a section of src/protocol/README.md names first in the rows of its table, in order. */
function filesIn(title: string): string[] {
  const readme = readFileSync(`${root}src/protocol/README.md`, "utf8");
  const [, section = ""] = readme.split(`## ${title}\n`);
  const [rows = ""] = section.split("\n## ");
  return [...rows.matchAll(/^\| `([\w./-]+\.ts)`/gm)].map(([, file = ""]) => file);
}

type Played = { files: string[]; requests: Record<"file" | "sweep" | "run", string[]> };

const { stdout } = await promisify(execFile)(process.execPath, [`${root}test/support/plain-path.ts`]);
const { files, requests }: Played = JSON.parse(stdout);

test("a plain job goes through the files that src/protocol/README.md names", () => {
  const path = filesIn("The plain path, file by file");
  const passed = filesIn("What the plain path only passes");
  expect(new Set(path).size).toBe(path.length);
  expect(path.length).toBeGreaterThan(0);
  expect(path.length).toBeLessThanOrEqual(MOST_OPENED);
  expect(files.filter((file) => !RULES.test(file))).toEqual([...path, ...passed].sort());
  expect(files.length).toBeLessThanOrEqual(MOST_FILES);
});

test("a plain job costs one write when it is filed, one message, and two writes when it runs", () => {
  // Each process reads the number of shards once a minute, and the topic's pause once in five seconds.
  expect(requests.file).toEqual(["GetItem", "PutItem"]);
  expect(requests.sweep.filter((call) => call === "SendMessageBatch")).toHaveLength(1);
  expect(requests.run).toEqual(["GetItem", "BatchExecuteStatement", "BatchExecuteStatement"]);
});
