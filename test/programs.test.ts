import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
/** The scripts of package.json that run a program with a help text. */
const PROGRAMS = Object.entries(scripts).flatMap(([name, command]) => {
  const [, file] = /^node (\S+\.ts)$/.exec(command) ?? [];
  return file !== undefined && /help/i.test(readFileSync(file, "utf8")) ? [{ name, file }] : [];
});

test("the programs are found", () => {
  expect(PROGRAMS.map(({ name }) => name)).toContain("bench:console");
});

// The other tests do not run most of these programs, but change the files that the programs import.
test.each(PROGRAMS)("npm run $name -- --help shows the options", async ({ name, file }) => {
  const { stdout } = await promisify(execFile)(process.execPath, [file, "--help"]);
  expect(stdout).toContain(`npm run ${name} -- [`);
});
