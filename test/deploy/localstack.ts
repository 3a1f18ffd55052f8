import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { LocalError } from "../../local/local-error.ts";
import { findDynoxide } from "../../local/processes/dynoxide.ts";
import { cannot } from "../e2e/places.ts";
import { deployApp, RECEIVERS_HERE, STACK } from "./cdk.ts";
import { readLocalStackOptions } from "./command-line.ts";
import { cacheFolder, emulatorEnvironment, plainEnvironment, ROOT } from "./environment.ts";
import { runSession, type Session } from "./session.ts";
import { runSuite } from "./suite.ts";
import { healthAt, waitHealthy } from "./wait-healthy.ts";

const DEFAULT_ENDPOINT = "http://127.0.0.1:4566";
/** LocalStack's first start installs packages into a virtual environment, which takes minutes. */
const CACHE_VARIABLE = "MINUTEHAND_LOCALSTACK_CACHE";
const IS_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 13))";

await runSession("test:localstack", readLocalStackOptions, async (session, { prepare }) => {
  if (prepare) {
    // A LocalStack that the caller has started needs no preparation.
    if (process.env.LOCALSTACK_ENDPOINT === undefined) await startLocalStack(session);
    return;
  }
  const endpoint = await findLocalStack(session);
  const env = emulatorEnvironment(endpoint);
  const context = [RECEIVERS_HERE, ...(cannot("localstack", "http-api") ? ["api=none"] : [])];
  await deployApp(session, { env, context });
  await runSuite(session, "localstack", STACK, env);
});

async function findLocalStack(session: Session): Promise<string> {
  const named = process.env.LOCALSTACK_ENDPOINT;
  const endpoint = named ?? DEFAULT_ENDPOINT;
  if ((await healthAt(healthOf(endpoint))) !== undefined) {
    session.progress(`using the LocalStack at ${endpoint}; it keeps the stack ${STACK} after this run`);
    return endpoint;
  }
  if (named !== undefined) throw new LocalError(`no LocalStack answers at LOCALSTACK_ENDPOINT, ${named}`);
  await startLocalStack(session);
  return endpoint;
}

function healthOf(endpoint: string): string {
  return `${endpoint}/_localstack/health`;
}

async function startLocalStack(session: Session): Promise<void> {
  const kit = resolve(process.env.MINUTEHAND_LOCALSTACK_KIT ?? join(ROOT, "../shared/localstack"));
  if (!existsSync(join(kit, "start.sh"))) {
    throw new LocalError(
      `${kit} has no start.sh, which starts LocalStack without docker: set MINUTEHAND_LOCALSTACK_KIT to a folder that ` +
        `has it, or start LocalStack by "docker compose up -d localstack"`,
    );
  }
  const cache = cacheFolder("minutehand-localstack", CACHE_VARIABLE);
  const env = {
    ...plainEnvironment(),
    [CACHE_VARIABLE]: cache,
    NODE_BIN: process.execPath,
    DYNOXIDE_BIN: findDynoxide(),
    // LocalStack's own server listens on all interfaces, whatever address it is given.
    GATEWAY_SERVER: "hypercorn",
  };
  await buildPython(session, kit, cache, env);
  session.progress("LocalStack starts on 127.0.0.1:4566; its first start takes a minute or two");
  const server = session.serve({ name: "LocalStack", command: join(kit, "start.sh"), args: [], env });
  await Promise.race([waitHealthy(healthOf(DEFAULT_ENDPOINT)), server.ended]);
}

/** Builds Python 3.13 with the kit if this machine has only an older Python. LocalStack needs 3.13. */
async function buildPython(
  session: Session,
  kit: string,
  cache: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const own = env.PYTHON_BIN;
  const candidates = own === undefined ? [join(cache, "python/bin/python3"), "python3"] : [own];
  if (candidates.some((python) => spawnSync(python, ["-c", IS_ENOUGH]).status === 0)) return;
  if (own !== undefined)
    throw new LocalError(`PYTHON_BIN must be Python 3.13 or later for LocalStack, is ${own}`);
  session.progress("building Python 3.13 for LocalStack: this takes some minutes, and only once");
  await session.run({ name: "python.sh", command: join(kit, "python.sh"), args: [], env });
}
