import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../local/free-port.ts";
import { LocalError } from "../../local/local-error.ts";
import { cacheFolder, emulatorEnvironment, plainEnvironment } from "./environment.ts";
import type { Session } from "./session.ts";
import { waitHealthy } from "./wait-healthy.ts";

const REQUIREMENTS = join(import.meta.dirname, "ministack-requirements.txt");
const START_LIMIT_MS = 60_000;

/** Starts MiniStack with TLS and IAM on; answers the environment that leads to it. */
export async function startMiniStack(session: Session): Promise<NodeJS.ProcessEnv> {
  const python = await installMiniStack(session);
  await session.run({
    name: "openssl",
    command: "openssl",
    args: ["version"],
    advice: "MiniStack makes its certificate with it",
  });
  const port = await freePort();
  // MiniStack makes it here, and its functions' processes keep a name of it that they were given.
  const certificate = join(session.folder, "ministack-tls", "server.crt");
  session.progress(`MiniStack starts on 127.0.0.1:${port}`);
  const server = session.serve({
    name: "MiniStack",
    command: python,
    args: ["-m", "ministack"],
    env: {
      ...plainEnvironment(),
      BIND_HOST: "127.0.0.1",
      GATEWAY_PORT: String(port),
      SFTP_ENABLED: "0",
      IOT_MTLS_ENABLED: "0",
      AUTH: "true",
      // Queues and the CDK's bucket refuse plain HTTP, once policies are looked at.
      USE_SSL: "1",
      TMPDIR: session.folder,
      NODE_EXTRA_CA_CERTS: certificate,
    },
  });
  const endpoint = `https://127.0.0.1:${port}`;
  const health = await Promise.race([
    waitHealthy(`${endpoint}/_ministack/health`, START_LIMIT_MS, certificate),
    server.ended,
  ]);
  if (JSON.parse(health).auth !== "enabled")
    throw new LocalError("MiniStack must have IAM on, says it is not");
  return { ...emulatorEnvironment(endpoint), AWS_CA_BUNDLE: certificate, NODE_EXTRA_CA_CERTS: certificate };
}

/** The Python of a virtual environment with MiniStack in it, made when the requirements have changed. */
async function installMiniStack(session: Session): Promise<string> {
  const cache = cacheFolder("minutehand-ministack", "MINUTEHAND_MINISTACK_CACHE");
  const python = join(cache, "bin", "python");
  const marker = join(cache, "requirements.sha256");
  const wanted = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex");
  if (readIfThere(marker) === wanted) return python;
  session.progress(`MiniStack is installed into ${cache}`);
  mkdirSync(cache, { recursive: true });
  const creator = process.env.PYTHON_BIN ?? "python3";
  const advice = "MiniStack needs Python 3.10 or later, on the PATH or named by PYTHON_BIN";
  const check =
    "import sys; sys.version_info >= (3, 10) or sys.exit(f'needs Python 3.10, not {sys.version}')";
  await session.run({ name: "python3", command: creator, args: ["-c", check], advice });
  await session.run({ name: "python3 -m venv", command: creator, args: ["-m", "venv", "--clear", cache] });
  await session.run({
    name: "pip install",
    command: python,
    args: [
      "-m",
      "pip",
      "--disable-pip-version-check",
      "install",
      "--quiet",
      "--require-hashes",
      "-r",
      REQUIREMENTS,
    ],
  });
  writeFileSync(marker, wanted);
  return python;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The first run.
    return undefined;
  }
}
