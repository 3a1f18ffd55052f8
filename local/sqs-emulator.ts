import { fork } from "node:child_process";
import { once } from "node:events";
import { hiddenPlace } from "./free-port.ts";
import { programOf } from "./program.ts";
import type { Program } from "./supervise.ts";

/** SQS at a hidden place of loopback; without a data folder it is kept in memory. */
export async function sqsEmulator(
  dataDir: string | undefined,
): Promise<{ program: Program; endpoint: string }> {
  const { host, port } = await hiddenPlace();
  return {
    endpoint: `http://${host}:${port}`,
    program: {
      name: "the embedded SQS (fauxqs)",
      data: dataDir,
      spawn: () =>
        fork(programOf("fauxqs"), [host, String(port), ...(dataDir ? [dataDir] : [])], {
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
