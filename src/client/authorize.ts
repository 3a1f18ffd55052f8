import { AwsV4Signer } from "aws4fetch";
import { awsCredentials, type Credentials } from "../aws/credentials.ts";
import { MinutehandError, messageOf } from "../core/errors.ts";
import { isLoopback } from "../settings/loopback.ts";
import type { ClientOptions } from "./http-client.ts";

export type Outgoing = { method: string; url: string; headers: Headers; body: string };

/** Makes the headers that authorize a call. It is called for each try, because signatures and tokens expire. */
export type Authorize = (request: Outgoing) => Promise<Headers>;

/**
 * Throws a `RangeError` if the host implies no `auth`, if no region is known to sign for, for a token that a header cannot contain, and if a
 * token or a signature would be sent unencrypted.
 */
export function authorizeBy({ url, auth = usualFor(url), region }: ClientOptions): Authorize {
  if (auth === "none") return async ({ headers }) => headers;
  if (!isPrivate(url)) throw new RangeError(`url ${NEEDS_TLS}, got ${new URL(url).origin}`);
  if (auth === "iam") return signed(awsCredentials(), regionFor(url, region));
  const { bearer } = auth;
  if (typeof bearer === "string") requireToken(bearer);
  return async ({ headers }) => {
    const token = typeof bearer === "string" ? bearer : await bearer();
    requireToken(token);
    return withHeader(headers, "authorization", `Bearer ${token}`);
  };
}

/** What a URL must meet that gets a token or a signature. */
export const NEEDS_TLS = "must begin with https:, because calls carry a token or a signature";

/** Whether nobody on the network can read what is sent to a URL. A signature comes with a session token, and can be sent again. */
export function isPrivate(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopback(hostname);
}

/** The errors of `Headers` and `fetch` would quote the token. */
function requireToken(bearer: string): void {
  if (/^[\x21-\x7e]+$/.test(bearer)) return;
  throw new RangeError("bearer must be a token of printable ASCII without spaces or line breaks");
}

/** Signs calls with Signature Version 4. */
export function signed(credentials: () => Promise<Credentials>, region: string): Authorize {
  return async ({ method, url, headers, body }) => {
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials().catch((error: unknown) => {
      throw new MinutehandError(
        "forbidden",
        `the request cannot be signed, because there are no AWS credentials: ${messageOf(error)}`,
        {},
        error,
      );
    });
    const signer = new AwsV4Signer({
      method,
      url,
      headers,
      ...(body === "" ? {} : { body }),
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: "execute-api",
      region,
    });
    return (await signer.sign()).headers;
  };
}

const GATEWAY = /\.execute-api\.([a-z0-9-]+)\./;

function usualFor(url: string): "none" | "iam" {
  const { hostname } = new URL(url);
  if (isLoopback(hostname)) return "none";
  if (GATEWAY.test(hostname)) return "iam";
  throw new RangeError(`auth must be given for ${hostname}: "iam", "none" or { bearer }`);
}

/** `undefined` for a custom domain. */
export function regionOf(url: string): string | undefined {
  return GATEWAY.exec(new URL(url).hostname)?.[1];
}

function regionFor(url: string, region: string | undefined): string {
  // API Gateway refuses a signature for another region than its own.
  const found = regionOf(url) ?? region;
  if (found !== undefined) return found;
  const { hostname } = new URL(url);
  throw new RangeError(
    `region must be given to sign calls of ${hostname}, because the host's name contains no region`,
  );
}

function withHeader(headers: Headers, name: string, value: string): Headers {
  const all = new Headers(headers);
  all.set(name, value);
  return all;
}
