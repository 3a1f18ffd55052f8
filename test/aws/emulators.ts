import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS } from "../patience.ts";

export type Emulator = { endpoint: string; close(): Promise<void> };

/** If set, the suites start no emulators, and run against this endpoint, such as LocalStack's. */
export const elsewhere = process.env.MINUTEHAND_CONTRACT_ENDPOINT;

/**
 * The databases that the suites of the pool, the protocol and the direct worker run against. If `elsewhere` is set, the suites run
 * once, against that endpoint, whatever the name of the database.
 */
export const DATABASES: readonly ("native" | "portable")[] = elsewhere ? ["native"] : ["native", "portable"];

/** Sets the environment variables from which the SDK's clients take endpoint, region and credentials, so that they call an emulator. */
export function useEndpoint(
  service: "DYNAMODB" | "LAMBDA" | "SQS" | "SCHEDULER" | "SECRETS_MANAGER",
  endpoint: string,
): void {
  process.env[`AWS_ENDPOINT_URL_${service}`] = endpoint;
  process.env.AWS_REGION = "us-east-1";
  process.env.AWS_ACCESS_KEY_ID = "test";
  process.env.AWS_SECRET_ACCESS_KEY = "test";
}

/** Starts an emulator of DynamoDB. `portable`: the emulator that is part of the local stack's code. Only the suites of `DATABASES` use it. */
export async function startDynamo(database: "native" | "portable" = "native"): Promise<Emulator> {
  if (elsewhere) return { endpoint: elsewhere, close: async () => {} };
  const port = await freePort();
  const child =
    database === "portable"
      ? fork(fileURLToPath(new URL("../../local/processes/dynamodb-process.ts", import.meta.url)), [
          String(port),
        ])
      : spawn(dynoxideBinary(), ["serve", "--host", "127.0.0.1", "--port", String(port)], {
          stdio: ["ignore", "ignore", "inherit"],
        });
  await once(child, "spawn");
  await untilListening(port, child);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    async close() {
      if (child.exitCode !== null) return;
      child.kill();
      await once(child, "exit");
    },
  };
}

/** The path of the emulator's program. Throws if there is no program for this platform: a suite that skips itself proves nothing. */
function dynoxideBinary(): string {
  const name = `@dynoxide/${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return join(dirname(manifest), process.platform === "win32" ? "dynoxide.exe" : "dynoxide");
  } catch (cause) {
    throw new Error(`the suite needs DynamoDB's emulator, the package ${name}, which is not installed`, {
      cause,
    });
  }
}

/** Starts fauxqs with the launcher of the local stack, which binds it to loopback and corrects its faults. */
export async function startSqs(): Promise<Emulator> {
  if (elsewhere) return { endpoint: elsewhere, close: async () => {} };
  const port = await freePort();
  const launcher = fileURLToPath(new URL("../../local/processes/fauxqs-process.ts", import.meta.url));
  // As in the local stack, fauxqs gets a data folder, because some of its faults appear only when it stores messages.
  const folder = mkdtempSync(join(tmpdir(), "minutehand-fauxqs-"));
  const child = fork(launcher, ["127.0.0.1", String(port), folder]);
  await once(child, "message");
  return {
    endpoint: `http://127.0.0.1:${port}`,
    async close() {
      child.kill();
      if (child.exitCode === null) await once(child, "exit");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string")
    throw new Error("a server that listens on a port must have an address");
  return address.port;
}

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null)
      throw new Error(`the emulator of DynamoDB ended with exit code ${child.exitCode}`);
    const answered = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    if (answered) return;
    await sleep(25);
  }
  child.kill();
  throw new Error(`the emulator of DynamoDB does not listen on port ${port}`);
}
