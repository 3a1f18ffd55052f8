import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const BACKLOG = fileURLToPath(new URL("../../support/large-backlog.ts", import.meta.url));
/** MiB: the memory of the deployed function (infra/tick.ts), and about the part that Lambda gives to Node's heap. */
const MEMORY = 1024;
const HEAP = 900;

test.each([
  ["homes", "20 minutes without ticks, of 500 jobs a shard and minute with bodies up to the largest"],
  ["looks", "as many looks at jobs with the largest bodies"],
  ["parked", "as many looks, while jobs of 40 topics, as large as those, wait for a release"],
])("a tick of 64 shards has memory for a backlog of %s: %s", async (kind) => {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP}`, BACKLOG, kind, "4000"]);
  let said = "";
  child.stdout.on("data", (data) => {
    said += data;
  });
  let wrong = "";
  child.stderr.on("data", (data) => {
    wrong += data;
  });
  expect(await once(child, "close"), wrong.slice(0, 2000)).toEqual([0, null]);
  const { peakMiB, messages, moved, released } = JSON.parse(said);
  expect(peakMiB).toBeLessThan(MEMORY);
  // The tick has recorded its progress, so the next tick continues from there.
  expect(messages).toBeGreaterThan(0);
  expect(moved).toBeGreaterThan(0);
  if (kind === "parked") expect(released).toBeGreaterThan(0);
});
