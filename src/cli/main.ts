#!/usr/bin/env node
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { refusalOfNode } from "./node-version.ts";

const refusal = refusalOfNode(process.version);
if (refusal !== undefined) {
  process.stderr.write(`minutehand: ${refusal}\n`);
  process.exit(1);
}
// Imported only after the check, because an old Node fails at these imports, and would print a stack trace instead of the refusal.
const [{ FAILED, INTERRUPTED, OK }, { run }] = await Promise.all([
  import("./program.ts"),
  import("./run.ts"),
]);

let endsUnread = false;
let isOutputLost = false;

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has gone, as in `minutehand list | head`, or the disk is full. End a command that only reads. Let a command that
    // changes jobs continue, so that it does not stop halfway.
    const isUnread = error.code === "EPIPE";
    if (!isUnread && !isOutputLost) {
      isOutputLost = true;
      process.exitCode = FAILED;
      if (stream === process.stdout)
        process.stderr.write(`minutehand: the output is lost: ${error.message}\n`);
    }
    if (stream === process.stdout && endsUnread) process.exit(isUnread ? 0 : FAILED);
  });
}

const code = await run(process.argv.slice(2), {
  env: process.env,
  folder: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: () => Date.now(),
  wait: (ms) => sleep(ms),
  interrupted: async () => void (await once(process, "SIGINT")),
  endUnread: () => {
    endsUnread = true;
  },
  nodeVersion: process.version,
});
if (code === INTERRUPTED) process.exit(code);
process.exitCode = code === OK && isOutputLost ? FAILED : code;
