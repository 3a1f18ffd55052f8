import { spawnSync } from "node:child_process";
import { test } from "vitest";

const hasGo = spawnSync("go", ["version"]).status === 0;

/** Declares a test that runs Go. On a machine without `go` the test is skipped. `.ci/run` installs Go, so no such test is skipped there. */
export const goTest = test.skipIf(!hasGo);
