import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { goTest } from "../support/go.ts";
import { declareProducer, declareWorker, type Programs } from "./declare-programs.ts";

const FOLDER = join(import.meta.dirname, "../../examples/go");
const built = mkdtempSync(join(tmpdir(), "minutehand-go-"));

afterAll(() => rmSync(built, { recursive: true }));

// This test stands first: it builds the programs that the others run.
goTest("the Go examples build, and Go's own tools find nothing in them", () => {
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: FOLDER, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  run("go", "build", "-o", built, "./worker", "./producer");
  run("go", "vet", "./...");
  expect(run("gofmt", "-l", ".")).toBe("");
});

const programs: Programs = {
  language: "Go",
  test: goTest,
  signatureTest: goTest,
  command: (program) => [join(built, program)],
  widthError: "width must be more than 0, is 0",
  lost: /^extend: .*409/m,
};

declareWorker(programs);
declareProducer(programs);
