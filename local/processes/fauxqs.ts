import { fork } from "node:child_process";
import { once } from "node:events";
import { missingPackages } from "../../src/general/optional-packages.ts";
import { LocalError } from "../local-error.ts";
import { unguessableAddress } from "./free-port.ts";
import { DETACHED, emulatorVariables } from "./processes.ts";
import { programPath } from "./program-path.ts";
import type { SupervisedProgram } from "./supervise.ts";

/** At an unguessable address. Without a data folder it keeps messages in memory. */
export async function fauxqsProgram(
  dataDir: string | undefined,
): Promise<{ program: SupervisedProgram; endpoint: string }> {
  // Synthesising a handler needs esbuild, so a user who lacks both learns of both at once.
  if (missingPackages("minutehand local", ["fauxqs"]) !== undefined)
    throw new LocalError(missingPackages("minutehand local", ["fauxqs", "esbuild"]) ?? "");
  const { host, port } = await unguessableAddress();
  return {
    endpoint: `http://${host}:${port}`,
    program: {
      name: "the embedded SQS (fauxqs)",
      data: dataDir,
      spawn: () =>
        fork(programPath("fauxqs"), [host, String(port), ...(dataDir ? [dataDir] : [])], {
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
