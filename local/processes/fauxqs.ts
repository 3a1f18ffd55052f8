import { fork } from "node:child_process";
import { once } from "node:events";
import { missingPackages } from "../../src/general/optional-packages.ts";
import { LocalError } from "../local-error.ts";
import { unguessableAddress } from "./free-port.ts";
import { DETACHED, emulatorVariables } from "./processes.ts";
import { programPath } from "./program-path.ts";
import type { SupervisedProgram } from "./supervise.ts";

export type QueuesState = {
  /** The names of the queues that have a message which a poller can receive now. */
  readonly ready: readonly string[];
  /** How many requests of functions wait for a message. */
  readonly waiting: number;
  /** The receipt handles of the messages that functions have received and not deleted. Their visibility timeouts are not over. */
  readonly handed: readonly string[];
  /** When the next delay or visibility timeout ends, ms since the epoch. */
  readonly next?: number | undefined;
};

/** At an unguessable address. Without a data folder it keeps messages in memory. */
export async function fauxqsProgram(
  dataDir: string | undefined,
  ahead: () => number,
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
        fork(programPath("fauxqs"), [host, String(port), dataDir ?? "", String(ahead())], {
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
