import type { IncomingHttpHeaders } from "node:http";

const LOOPBACK = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|localhost|\[::1\])(:\d+)?$/i;

/** `host`: a host name of this machine, with or without a port. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/**
 * A page of any site can send requests to loopback. A browser marks them with `Origin` and `Sec-Fetch-Site`, and a host name that points
 * to loopback (DNS rebinding) is in `Host`. Other programs send neither, and name loopback in `Host`. `undefined`: not refused. `ownHost`: the
 * only `Host` that is taken, instead of loopback's.
 */
export function refusalOfWebPage(headers: IncomingHttpHeaders, ownHost?: string): string | undefined {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  // The refusal does not say the own host: whoever asks with another host may be a program that must not learn it.
  if (ownHost !== undefined && host !== ownHost) return refusal("Host", "that of the printed address", host);
  if (ownHost === undefined && !isLoopback(host))
    return refusal("Host", "127.0.0.1, localhost or [::1]", host);
  if (origin !== undefined && origin !== `http://${host}`)
    return refusal("Origin", `absent or http://${host}`, origin);
  if (site !== undefined && site !== "same-origin" && site !== "none")
    return refusal("Sec-Fetch-Site", "absent, same-origin or none", String(site));
  return undefined;
}

function refusal(header: string, rule: string, got: string): string {
  return `the header ${header} must be ${rule}, got ${JSON.stringify(got)}: web pages of other sites cannot call this server`;
}
