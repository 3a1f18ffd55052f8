import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);
const CALL = join(import.meta.dirname, "../../support/large/call.ts");
/** Less than 500 bodies need. The API's function has 1024 MiB, but the SDK's copies of answers need most of it. */
const HEAP_MIB = 96;

describe("a call over jobs whose bodies have 200 KiB each keeps few of them in memory:", () => {
  test.concurrent.each([
    "list",
    "list of the dead",
    "forecast",
    "bulk cancel",
    "bulk move",
    "bulk run",
    "bulk redrive",
    "cancel of 500",
    "redrive of 500",
  ])("%s", async (name) => {
    const { stdout } = await run(process.execPath, [`--max-old-space-size=${HEAP_MIB}`, CALL, name]);
    expect(stdout).toBe(`${name} is answered\n`);
  });
});
