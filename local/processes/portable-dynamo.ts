import { fork } from "node:child_process";
import { once } from "node:events";
import { freePort } from "./free-port.ts";
import { DETACHED, emulatorVariables } from "./processes.ts";
import { programPath } from "./program-path.ts";
import type { SupervisedProgram } from "./supervise.ts";

/** Without a database file it keeps its data in memory. */
export async function portableDynamoProgram(
  file: string | undefined,
): Promise<{ program: SupervisedProgram; endpoint: string }> {
  const port = await freePort();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    program: {
      name: "the portable DynamoDB",
      data: file,
      spawn: () =>
        fork(programPath("dynamodb"), [String(port), ...(file ? [file] : [])], {
          ...DETACHED,
          env: emulatorVariables(process.env),
          execArgv: [],
          stdio: ["ignore", "ignore", "pipe", "ipc"],
        }),
      ready: async (child, signal) => {
        await once(child, "message", { signal }).catch(() => {});
      },
    },
  };
}
