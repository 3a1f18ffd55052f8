import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { freePort, untilListening } from "./free-port.ts";
import { LocalError } from "./local-error.ts";
import type { Program } from "./supervise.ts";

const { resolve } = createRequire(import.meta.url);

/** Where this machine's dynoxide lies. Throws `LocalError` if there is none for it. */
export function findDynoxide(platform: string = process.platform, arch: string = process.arch): string {
  const name = `@dynoxide/${platform}-${arch}`;
  try {
    return join(dirname(resolve(`${name}/package.json`)), platform === "win32" ? "dynoxide.exe" : "dynoxide");
  } catch {
    throw new LocalError(
      `there is no embedded DynamoDB for this machine: the npm package ${name} is not installed; ` +
        "install it, or set AWS_ENDPOINT_URL_DYNAMODB to a DynamoDB that runs elsewhere",
    );
  }
}

/** DynamoDB on a port of loopback; without a database file it is kept in memory. */
export async function dynoxide(file: string | undefined): Promise<{ program: Program; endpoint: string }> {
  const binary = findDynoxide();
  const port = await freePort();
  const args = ["serve", "--host", "127.0.0.1", "--port", String(port), ...(file ? ["--db-path", file] : [])];
  return {
    endpoint: `http://127.0.0.1:${port}`,
    program: {
      name: "the embedded DynamoDB (dynoxide)",
      data: file,
      spawn: () => spawn(binary, args, { detached: true, stdio: ["ignore", "ignore", "pipe"] }),
      ready: (_, signal) => untilListening(port, signal),
    },
  };
}
