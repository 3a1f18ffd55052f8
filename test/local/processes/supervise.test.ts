import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { startGuard } from "../../../local/processes/guard.ts";
import { type SupervisedProgram, supervise } from "../../../local/processes/supervise.ts";

test("a program that dies soon after each of its starts is given up", async () => {
  const program: SupervisedProgram = {
    name: "the program",
    data: undefined,
    spawn: () => spawn(process.execPath, ["-e", ""], { stdio: ["ignore", "ignore", "pipe"] }),
    ready: async () => {},
  };
  const guard = startGuard();
  try {
    const lost = Promise.withResolvers<Error>();
    await supervise(program, { guard, log: () => {}, onRestart: () => {}, onLost: lost.resolve });
    expect((await lost.promise).message).toBe("the program ended (code 0), as it did at its last 5 starts");
  } finally {
    guard.stop();
  }
});
