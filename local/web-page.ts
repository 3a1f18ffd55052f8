import type { IncomingHttpHeaders } from "node:http";

const LOOPBACK = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|localhost|\[::1\])(:\d+)?$/i;

/**
 * A page of any site can send requests to loopback. A browser marks them with `Origin` and `Sec-Fetch-Site`, and a host name that points
 * to loopback (DNS rebinding) is in `Host`. Other programs send neither, and name loopback in `Host`. `undefined`: not refused.
 */
export function refusalOfWebPage(headers: IncomingHttpHeaders): string | undefined {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  if (!LOOPBACK.test(host)) return refusal("Host", "127.0.0.1, localhost or [::1]", host);
  if (origin !== undefined && origin !== `http://${host}`)
    return refusal("Origin", `absent or http://${host}`, origin);
  if (site !== undefined && site !== "same-origin" && site !== "none")
    return refusal("Sec-Fetch-Site", "absent, same-origin or none", String(site));
  return undefined;
}

function refusal(header: string, rule: string, got: string): string {
  return `the header ${header} must be ${rule}, got ${JSON.stringify(got)}: web pages of other sites cannot call this server`;
}
