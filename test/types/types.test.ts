import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const WRONG = join(import.meta.dirname, "wrong.ts");

/** The errors of the compiler, each with its file, its line, and the details in the lines below it. */
function compile() {
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  const { stdout } = spawnSync(tsc, ["--pretty", "false"], { cwd: import.meta.dirname, encoding: "utf8" });
  return stdout.split(/\n(?! )/).flatMap((text) => {
    const [, file, line, said] = /^(\S+)\((\d+),\d+\): (error .*)/s.exec(text) ?? [];
    return said === undefined ? [] : [{ file, line: Number(line), said }];
  });
}

test("what is right compiles, and each wrong statement gives the error that its comment says", () => {
  const lines = readFileSync(WRONG, "utf8").split("\n");
  const isComment = (line: string | undefined) => /^ *\/\/ /.test(line ?? "");
  /** The comment above the statement of a line, and the first word of its error. */
  const commentAbove = (line: number) => lines.findLastIndex((text, at) => at < line - 1 && isComment(text));
  const first = lines.findIndex((line) => isComment(line)) + 1;
  const wanted = lines.flatMap((line, at) =>
    at >= first && isComment(line) ? [[at, line.replace(/^ *\/\/ /, "")] as const] : [],
  );
  const errors = compile();
  expect(errors.filter(({ file }) => file !== "wrong.ts")).toEqual([]);
  const said = Object.groupBy(errors, ({ line }) => commentAbove(line));
  expect(Object.keys(said).map(Number)).toEqual(wanted.map(([at]) => at));
  for (const [at, text] of wanted) {
    expect(said[at]).toHaveLength(1);
    expect(said[at]?.[0]?.said).toContain(text);
  }
});
