import { portOf } from "../general/port.ts";
import { truncate } from "../general/text.ts";
import { CALLBACK_URL_CHARS } from "./constants.ts";
import type { WebhookPolicy } from "./policy.ts";
import { isPublicAddress } from "./public-address.ts";

/** Bytes of a refused URL that its refusal shows. */
const SHOWN = 100;

/** What of a webhook's policy decides whom it may call. */
type Callable = Pick<WebhookPolicy, "allowHttp" | "allowHosts" | "onlyHosts" | "ports">;

/** What can never be called by a webhook topic, as `callbackUrlRule`, and the value; `undefined`: nothing forbids it. */
export function callbackUrlError(text: string, policy: Callable): string | undefined {
  const rule = callbackUrlRule(text, policy);
  return rule && `${rule}, got ${truncate(JSON.stringify(text), SHOWN)}`;
}

/**
 * The rule that forbids a webhook topic to call a URL, to follow the field's name, without the URL, which may hold a
 * secret; `undefined`: none does. Where a name leads is judged when it is called.
 */
export function callbackUrlRule(text: string, policy: Callable): string | undefined {
  if (text.length > CALLBACK_URL_CHARS) {
    return `must have at most ${CALLBACK_URL_CHARS} characters, got ${text.length}`;
  }
  const url = URL.parse(text);
  if (url === null) return "must be a complete URL such as https://example.com/hooks";
  if (url.protocol !== "https:" && !(policy.allowHttp && url.protocol === "http:")) {
    return policy.allowHttp ? "must begin with https: or http:" : "must begin with https:";
  }
  // They would lie in the pool and in logs for all to read.
  if (url.username !== "" || url.password !== "") return "must have no user name or password in it";
  const host = hostOf(url);
  if (policy.allowHosts.includes(host)) return undefined;
  if (host === "localhost" || host.endsWith(".localhost")) return "must not lead to this machine";
  const address = literalOf(host);
  if (address !== undefined && !isPublicAddress(address)) {
    return "must lead to a public address";
  }
  const { onlyHosts, ports } = policy;
  if (onlyHosts && !onlyHosts.some((pattern) => isOf(host, pattern)))
    return `must lead to one of the topic's hosts: ${onlyHosts.join(", ")}`;
  if (!ports.includes(portOf(url))) return `must lead to one of the topic's ports: ${ports.join(", ")}`;
  return undefined;
}

/** A URL's host as `allowHosts` has it: in lower case, without the root's dot, an IPv6 address in brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, "");
}

/** Whether a host is meant by `example.com` or `*.example.com`, which stands for all hosts below. */
function isOf(host: string, pattern: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** The literal address that a host is: `new URL` has brought all spellings of an IPv4 address into one. */
function literalOf(host: string): string | undefined {
  if (host.startsWith("[")) return host.slice(1, -1);
  return /^[\d.]+$/.test(host) ? host : undefined;
}
