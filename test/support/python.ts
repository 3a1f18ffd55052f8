import { spawnSync } from "node:child_process";
import { test } from "vitest";

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const hasBotocore = spawnSync("python3", ["-c", "import botocore"]).status === 0;

/** Declares a test that runs Python. On a machine without `python3` the test is skipped. `.ci/run` needs Python, so no such test is skipped there. */
export const pythonTest = test.skipIf(!hasPython);

/** Declares a test that runs Python with `botocore`, which `.ci/run` installs where it is absent. */
export const botocoreTest = test.skipIf(!hasBotocore);
