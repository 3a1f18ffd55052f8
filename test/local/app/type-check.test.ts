import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTypeCheck } from "../../../local/app/type-check.ts";
import { startGuard } from "../../../local/processes/guard.ts";

const guard = startGuard();
let root: string;
let lines: string[];
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-types-")));
  lines = [];
});
afterEach(() => rmSync(root, { recursive: true, maxRetries: 5, retryDelay: 100 }));

const write = (name: string, text: string) => writeFileSync(join(root, name), text);
const check = () =>
  createTypeCheck({
    root,
    guard,
    isInput: (path) => path === join(root, "mail.ts"),
    log: (line) => lines.push(line),
  });
/** A compiler that prints `output.txt`, and ends with the code in `code.txt`. */
function withCompiler(): void {
  mkdirSync(join(root, "node_modules/typescript/bin"), { recursive: true });
  mkdirSync(join(root, ".minutehand"));
  write("node_modules/typescript/package.json", "{}");
  write(
    "node_modules/typescript/bin/tsc",
    `const { readFileSync } = require("node:fs");
    process.stdout.write(readFileSync("output.txt", "utf8"));
    process.exitCode = Number(readFileSync("code.txt", "utf8"));
    if (readFileSync("output.txt", "utf8") === "hangs") setInterval(() => {}, 1000);`,
  );
  write("tsconfig.json", "{}");
}

test("the errors that TypeScript finds in files that run are logged, once", {
  timeout: 300_000,
}, async () => {
  mkdirSync(join(root, "node_modules"));
  mkdirSync(join(root, ".minutehand"));
  symlinkSync(
    join(import.meta.dirname, "../../../node_modules/typescript"),
    join(root, "node_modules/typescript"),
  );
  write("tsconfig.json", '{ "compilerOptions": { "strict": true, "types": [] } }');
  write("mail.test.ts", 'export const one: number = "1";');
  write("mail.ts", "export const to = (job: { to: string }) => job.too;");
  const checking = check();
  await checking?.start();
  expect(lines).toEqual([
    "checking types …",
    expect.stringMatching(/^type error: mail.ts:1:48: Property 'too' does not exist .*\(TS2339\)$/),
  ]);
  write("mail.ts", "export const to = (job: { to: string }) => job.to;");
  await checking?.start();
  expect(lines.slice(2)).toEqual(["checking types …", "no type errors"]);
});

const ERROR = (row: number) => `mail.ts(${row},1): error TS1: no\n  because of this\n`;
async function checked(checking: ReturnType<typeof check>, output: string, code = 2): Promise<string[]> {
  write("output.txt", output);
  write("code.txt", String(code));
  lines = [];
  await checking?.start();
  expect(lines[0]).toBe("checking types …");
  return lines.slice(1);
}

test("only new errors are logged, at most ten, and those of other files never", async () => {
  withCompiler();
  const checking = check();
  expect(await checked(checking, `${ERROR(1)}other.ts(1,1): error TS1: no\n`)).toEqual([
    "type error: mail.ts:1:1: no (TS1)",
  ]);
  expect(await checked(checking, ERROR(1) + ERROR(2))).toEqual(["type error: mail.ts:2:1: no (TS1)"]);
  expect(await checked(checking, ERROR(1))).toEqual(["no new type errors"]);
  const twelve = Array.from({ length: 12 }, (_, index) => ERROR(index + 3)).join("");
  expect((await checked(checking, twelve)).slice(9)).toEqual([
    "type error: mail.ts:12:1: no (TS1)",
    "and 2 more type errors",
  ]);
  expect(await checked(checking, "error TS18003: No inputs were found\n")).toEqual([]);
  expect(await checked(checking, "", 0)).toEqual(["no type errors"]);
});

test("a cancelled check ends, and says nothing more", async () => {
  withCompiler();
  const checking = check();
  write("output.txt", "hangs");
  write("code.txt", "0");
  const ended = checking?.start();
  checking?.cancel();
  await ended;
  expect(lines).toEqual(["checking types …"]);
});

test("without TypeScript or a tsconfig.json nothing is checked", () => {
  expect(check()).toBeUndefined();
  withCompiler();
  expect(check()).toBeDefined();
  rmSync(join(root, "tsconfig.json"));
  expect(check()).toBeUndefined();
});
