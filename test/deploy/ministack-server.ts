import { join } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { freePort } from "../../local/processes/free-port.ts";
import { emulatorEnvironment, plainEnvironment } from "./environment.ts";
import { pythonWith } from "./python.ts";
import type { Session } from "./session.ts";
import { waitHealthy } from "./wait-healthy.ts";

const MINISTACK = {
  name: "MiniStack",
  cache: "minutehand-ministack",
  variable: "MINUTEHAND_MINISTACK_CACHE",
  requirements: join(import.meta.dirname, "ministack-requirements.txt"),
};

/** Starts MiniStack with TLS and IAM on. Answers the environment in which programs use it instead of AWS. */
export async function startMiniStack(session: Session): Promise<NodeJS.ProcessEnv> {
  const python = await pythonWith(session, MINISTACK);
  await session.run({
    name: "openssl",
    command: "openssl",
    args: ["version"],
    advice: "MiniStack makes its certificate with openssl",
  });
  const port = await freePort();
  // MiniStack makes its certificate here, below TMPDIR. Its functions' processes inherit NODE_EXTRA_CA_CERTS, and so trust it.
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
      // With IAM on, the policies of the queues and of the CDK's bucket refuse plain HTTP.
      USE_SSL: "1",
      TMPDIR: session.folder,
      NODE_EXTRA_CA_CERTS: certificate,
    },
  });
  const endpoint = `https://127.0.0.1:${port}`;
  const health = await Promise.race([
    waitHealthy(`${endpoint}/_ministack/health`, certificate),
    server.ended,
  ]);
  if (JSON.parse(health).auth !== "enabled")
    throw new LocalError("MiniStack must run with IAM on, but its health page says that IAM is off");
  return { ...emulatorEnvironment(endpoint), AWS_CA_BUNDLE: certificate, NODE_EXTRA_CA_CERTS: certificate };
}
