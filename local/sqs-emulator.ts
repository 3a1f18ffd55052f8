import { fork } from "node:child_process";
import { once } from "node:events";
import { freePort } from "./free-port.ts";
import { programOf } from "./program.ts";
import type { Program } from "./supervise.ts";

/** SQS on a port of loopback; without a data folder it is kept in memory. */
export async function sqsEmulator(
  dataDir: string | undefined,
): Promise<{ program: Program; endpoint: string }> {
  const port = await freePort();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    program: {
      name: "the embedded SQS (fauxqs)",
      data: dataDir,
      spawn: () =>
        fork(programOf("fauxqs"), [String(port), ...(dataDir ? [dataDir] : [])], {
          detached: true,
          execArgv: [],
          stdio: ["ignore", "ignore", "pipe", "ipc"],
        }),
      ready: async (child, signal) => {
        await once(child, "message", { signal }).catch(() => {});
      },
    },
  };
}
