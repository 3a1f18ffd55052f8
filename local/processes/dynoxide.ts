import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { LocalError } from "../local-error.ts";
import { makePrivateFile } from "../private-files.ts";
import { unguessableAddress, waitUntilListening } from "./free-port.ts";
import { DETACHED, emulatorVariables } from "./processes.ts";
import type { SupervisedProgram } from "./supervise.ts";

const { resolve } = createRequire(import.meta.url);

/** Throws `LocalError` if dynoxide is not installed for this machine. */
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

/** Without a file, data is kept in memory. dynoxide answers web pages of any site, so it gets an address that no page can guess. */
export async function dynoxideProgram(
  file: string | undefined,
): Promise<{ program: SupervisedProgram; endpoint: string }> {
  const binary = findDynoxide();
  const address = await unguessableAddress();
  const { host, port } = address;
  if (file !== undefined) makePrivateFile(file);
  const args = ["serve", "--host", host, "--port", String(port), ...(file ? ["--db-path", file] : [])];
  return {
    endpoint: `http://${host}:${port}`,
    program: {
      name: "the embedded DynamoDB (dynoxide)",
      data: file,
      spawn: () =>
        spawn(binary, args, {
          ...DETACHED,
          env: emulatorVariables(process.env),
          stdio: ["ignore", "ignore", "pipe"],
        }),
      ready: (_, signal) => waitUntilListening(address, signal),
    },
  };
}
