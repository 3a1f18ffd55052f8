import type { DeployedStack } from "../aws/account.ts";
import { isPrivate, NEEDS_TLS, regionOf } from "../client/authorize.ts";
import type { ClientOptions } from "../client/http-client.ts";
import { messageOf } from "../core/errors.ts";
import { missingPackages } from "../general/optional-packages.ts";
import { isLoopback } from "../settings/loopback.ts";
import { API_OUTPUT } from "../settings/stack-outputs.ts";
import { CliError, UsageError } from "./cli-error.ts";
import { findOwnStack, type OwnStack, servesAt } from "./own-stack.ts";
import type { Surroundings } from "./surroundings.ts";

/** The API that a command calls: its URL, how to authenticate, and what named it. */
export type Target = {
  readonly url: string;
  /** What named the API, if the command line did not: `MINUTEHAND_URL`. */
  readonly by?: string;
  /** Nothing names the API: it is the one that answers at the default port. */
  readonly isGuessed?: true;
  /** The local stack of this folder, if it was chosen for that. */
  readonly own?: OwnStack;
  readonly auth: NonNullable<ClientOptions["auth"]>;
  /** The region of the signatures. Absent: calls are not signed, or no region is configured. */
  readonly region?: string;
  readonly stack?: DeployedStack & { readonly name: string };
};

export const LOCAL_PORT = 4500;
export const LOCAL_URL = `http://127.0.0.1:${LOCAL_PORT}`;
/** How long the local API may take to answer, ms. */
export const LOCAL_PATIENCE = 2000;

type Names = { readonly url?: string; readonly stack?: string; readonly token?: string };

/**
 * By `--url` or `--stack`, or else the local stack that runs in this folder or above, or else by MINUTEHAND_URL, or else the API at the
 * default port, if one answers within `patience` ms. Throws `UsageError` for an invalid URL or no API, and `CliError` for a stack without an
 * API.
 */
export async function findTarget(
  names: Names,
  { env, folder, isInstalled }: Pick<Surroundings, "env" | "folder" | "isInstalled">,
  patience = LOCAL_PATIENCE,
): Promise<Target> {
  const named = await namedApi(names, isInstalled);
  if (named) return authorized(named, names, env);
  // A local stack takes no token. So a token on the command line is for another API.
  const own = names.token === undefined ? await findOwnStack(folder, patience) : undefined;
  if (own) return { url: own.record.url, auth: "none", own, by: `the local stack of ${own.folder}` };
  const from = "MINUTEHAND_URL";
  if (env[from])
    return { ...(await authorized({ url: checked(env[from], from), from }, names, env)), by: from };
  return apiAtDefaultPort(names, patience);
}

/** `from`: what names the API. */
type Named = Pick<Target, "url" | "stack"> & { readonly from: string };

/** The API that the command line names. */
async function namedApi(
  { url, stack }: Names,
  isInstalled: Surroundings["isInstalled"],
): Promise<Named | undefined> {
  if (url !== undefined) return { url: checked(url, "--url"), from: "--url" };
  return stack === undefined ? undefined : apiOf(stack, isInstalled);
}

async function authorized(
  { from, ...found }: Named,
  { token }: Names,
  env: Surroundings["env"],
): Promise<Target> {
  const bearer = token ?? env.MINUTEHAND_TOKEN;
  // The API on this machine requires no signatures.
  if (!bearer && isLoopback(new URL(found.url).hostname)) return { ...found, auth: "none" };
  if (!isPrivate(found.url)) throw new UsageError(`${from} ${NEEDS_TLS}, got "${found.url}"`);
  if (bearer) return { ...found, auth: { bearer } };
  const region = regionOf(found.url) ?? (await (await account()).usualRegion());
  return { ...found, auth: "iam", ...(region === undefined ? {} : { region }) };
}

/** It gets no token: a local stack needs none, and any user of the machine can have the port. */
async function apiAtDefaultPort({ token }: Names, patience: number): Promise<Target> {
  if (token !== undefined)
    throw new UsageError(
      "--token needs the name of the API that gets the token: give --url, --stack or MINUTEHAND_URL",
    );
  if (await answers(LOCAL_URL, patience))
    return { url: LOCAL_URL, auth: "none", by: "the default port", isGuessed: true };
  throw new UsageError(
    `no local stack runs in this folder or above, and no API answers at ${LOCAL_URL}: start one with "minutehand local", or name an API with --url, --stack or MINUTEHAND_URL`,
  );
}

/**
 * Says which API a command calls without being told so by its command line. `undefined`: there is nothing to say. Only a person needs to
 * know, except if nothing names the API, which then may be that of another project, and if MINUTEHAND_URL names another API than the local stack, which a script may have meant.
 */
export function noteOf(
  { url, by, own, isGuessed }: Target,
  env: Surroundings["env"],
  isRead: boolean,
): string | undefined {
  const { MINUTEHAND_URL: other } = env;
  if (own && other && !(URL.canParse(other) && servesAt(own.record, other)))
    return `this command calls ${by} (${url}), and not MINUTEHAND_URL: name another API with --url or --stack`;
  return (isRead || isGuessed) && by !== undefined ? `this command calls ${url}: ${by}` : undefined;
}

/** Throws `UsageError` if nothing names the API that would be changed. `does`: what the command would do, such as `erase many jobs`. */
export function requireNamed({ url, isGuessed }: Target, does: string): void {
  if (isGuessed)
    throw new UsageError(
      `this command would ${does}, and nothing names the API but the default port: name it with --url ${url}, --stack or MINUTEHAND_URL`,
    );
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

/** Whether an API of Minutehand answers at `url`, and no other program. */
async function answers(url: string, patience: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(patience);
    const answer = await fetch(`${url}/health`, { signal, redirect: "manual" });
    const { status, version } = (await answer.json()) as { status?: unknown; version?: unknown };
    return status === "ok" && typeof version === "string";
  } catch {
    return false;
  }
}

async function apiOf(name: string, isInstalled: Surroundings["isInstalled"]): Promise<Named> {
  const missing = missingPackages("--stack", ["@aws-sdk/client-cloudformation"], isInstalled);
  if (missing !== undefined) throw new CliError(missing);
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
  const from = `the stack ${name}'s output ${output.key}`;
  return { url: checked(output.value, from), from, stack: { name, ...stack } };
}
