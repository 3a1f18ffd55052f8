import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const OTHERS = /^(AWS|CDK|MINUTEHAND_E2E|VITEST)/;

/** This process's environment, without variables that could select another account, and with this Node first in `PATH`. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !OTHERS.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`,
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
  };
}

/** `plainEnvironment` with an emulator's address, and credentials that every emulator takes as those of its account's root user. */
export function emulatorEnvironment(endpoint: string): NodeJS.ProcessEnv {
  return {
    ...plainEnvironment(),
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_S3_FORCE_PATH_STYLE: "1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_REGION: "us-east-1",
    AWS_DEFAULT_REGION: "us-east-1",
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

/** Variables with the paths of the AWS configuration's files and of a proxy's certificate. They are kept, because they select no account. */
const CONFIGURATION = ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE"];

export function accountEnvironment(profile: string, region: string): NodeJS.ProcessEnv {
  const kept = CONFIGURATION.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  return {
    ...plainEnvironment(),
    ...Object.fromEntries(kept),
    AWS_PROFILE: profile,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
  };
}

/** A folder that is kept between runs, for files that take long to make. The environment's `variable` may name another folder. */
export function cacheFolder(name: string, variable: string): string {
  const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return process.env[variable] ?? join(caches, name);
}
