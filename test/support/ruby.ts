import { spawnSync } from "node:child_process";
import { test } from "vitest";

const hasGem = spawnSync("ruby", ["-e", 'require "aws-sigv4"']).status === 0;

/** Declares a test that runs Ruby with the gem `aws-sigv4`, which `.ci/run` installs where it is absent. */
export const rubyTest = test.skipIf(!hasGem);
