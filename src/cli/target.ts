import type { DeployedStack } from "../aws/account.ts";
import { regionOf } from "../client/authorize.ts";
import type { ClientOptions } from "../client/client.ts";
import { messageOf } from "../core/errors.ts";
import { isLoopback } from "../settings/loopback.ts";
import { API_OUTPUT } from "../settings/stack-outputs.ts";
import { CliError, UsageError } from "./cli-error.ts";

/** The API that a command calls: its URL, how to authenticate, and the stack that named it. */
export type Target = {
  readonly url: string;
  readonly auth: NonNullable<ClientOptions["auth"]>;
  /** The region of the signatures. Absent: calls are not signed, or no region is configured. */
  readonly region?: string;
  readonly stack?: DeployedStack & { readonly name: string };
};

export const LOCAL_PORT = 4500;
const LOCAL_URL = `http://127.0.0.1:${LOCAL_PORT}`;
/** How long the local API may take to answer, ms. */
const LOCAL_PATIENCE = 2000;

/**
 * By `--url`, `--stack` or MINUTEHAND_URL, or else the API on this machine if it answers within `patience` ms. Throws `UsageError` for an
 * invalid URL or no API, and `CliError` for a stack without an API.
 */
export async function findTarget(
  { url, stack, token }: { readonly url?: string; readonly stack?: string; readonly token?: string },
  env: Readonly<Record<string, string | undefined>>,
  patience = LOCAL_PATIENCE,
): Promise<Target> {
  const found = await (async () => {
    if (url !== undefined) return { url: checked(url, "--url") };
    if (stack !== undefined) return apiOf(stack);
    if (env.MINUTEHAND_URL) return { url: checked(env.MINUTEHAND_URL, "MINUTEHAND_URL") };
    if (await answers(LOCAL_URL, patience)) return { url: LOCAL_URL };
    throw new UsageError(
      `no API answers at ${LOCAL_URL}: start one with "minutehand local", or name an API with --url, --stack or MINUTEHAND_URL`,
    );
  })();
  const bearer = token ?? env.MINUTEHAND_TOKEN;
  if (bearer) return { ...found, auth: { bearer } };
  // The API on this machine requires no signatures.
  if (isLoopback(new URL(found.url).hostname)) return { ...found, auth: "none" };
  const region = regionOf(found.url) ?? (await (await account()).usualRegion());
  return { ...found, auth: "iam", ...(region === undefined ? {} : { region }) };
}

/** Loads the module that calls AWS. Only some commands need it, and the AWS SDK takes longer to load than a command takes to run. */
function account() {
  return import("../aws/account.ts");
}

function checked(url: string, from: string): string {
  const { protocol = "", username = "", password = "" } = URL.parse(url) ?? {};
  if (username !== "" || password !== "") {
    throw new UsageError(`${from} must be a URL without user name and password`);
  }
  const shown = url.replace(/\/\/.*@/, "//…@");
  if (!/^https?:$/.test(protocol)) {
    throw new UsageError(`${from} must be an http: or https: URL, got "${shown}"`);
  }
  if (/[?#]/.test(url)) throw new UsageError(`${from} must be a URL without ? and #, got "${shown}"`);
  return url.replace(/\/+$/, "");
}

async function answers(url: string, patience: number): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { signal: AbortSignal.timeout(patience) });
    return true;
  } catch {
    return false;
  }
}

async function apiOf(name: string): Promise<Omit<Target, "auth">> {
  const { deployedStack } = await account();
  const stack = await deployedStack(name).catch((error: unknown) => {
    throw new CliError(`${messageOf(error)} (see --profile and --region)`);
  });
  if (stack === undefined) {
    throw new CliError(`there is no stack ${name} in this account and region (see --profile and --region)`);
  }
  const described = stack.outputs.filter(({ description }) => description === API_OUTPUT);
  const found = described.length > 0 ? described : stack.outputs.filter(({ key }) => key === "ApiUrl");
  const [output, second] = found;
  if (output === undefined) {
    throw new CliError(
      `the stack ${name} has no output with the description "${API_OUTPUT}" or the name ApiUrl: give the API's URL with --url`,
    );
  }
  if (second !== undefined) {
    const urls = found.map(({ value }) => value).join(", ");
    throw new CliError(`the stack ${name} has ${found.length} APIs: choose one with --url from ${urls}`);
  }
  return {
    url: checked(output.value, `the stack ${name}'s output ${output.key}`),
    stack: { name, ...stack },
  };
}
