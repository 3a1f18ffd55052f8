import { CALLBACK_URL_CHARS } from "../core/constants.ts";
import { portOf } from "../general/port.ts";
import { quoted } from "../general/text.ts";
import type { WebhookPolicy } from "./policy.ts";
import { isPublicAddress } from "./public-address.ts";

/** Bytes of a URL. */
const SHOWN = 100;

type Callable = Pick<WebhookPolicy, "allowHttp" | "allowHosts" | "onlyHosts" | "ports">;

/** Answers the rule of `callbackUrlRule`, followed by the beginning of the URL. */
export function callbackUrlError(text: string, policy: Callable): string | undefined {
  const rule = callbackUrlRule(text, policy);
  return rule && `${rule}, got ${quoted(text, SHOWN)}`;
}

/**
 * Answers the rule that forbids a webhook topic to call a URL; `undefined`: no rule forbids it. The text follows the field's name,
 * and does not show the URL, which may hold a secret. The addresses of a host are checked when the host is called.
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
  // Everyone who reads the pool or the logs could read the password.
  if (url.username !== "" || url.password !== "") return "must have no user name or password in it";
  const host = hostOf(url);
  if (policy.allowHosts.includes(host)) return undefined;
  if (isThisMachine(host)) return "must not lead to this machine";
  if (isPrivateAddress(host)) return "must lead to a public address";
  const { onlyHosts, ports } = policy;
  if (onlyHosts && !onlyHosts.some((pattern) => matchesHost(pattern, host)))
    return `must lead to one of the topic's hosts: ${onlyHosts.join(", ")}`;
  if (!ports.includes(portOf(url))) return `must lead to one of the topic's ports: ${ports.join(", ")}`;
  return undefined;
}

/** Answers the settings that a webhook topic lacks to call an `http:` URL or a private host, as JSON; `undefined`: others forbid the URL. */
export function lackingSettings(text: string, { allowHttp, allowHosts }: Callable): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const host = hostOf(url);
  const isPrivate = !allowHosts.includes(host) && (isThisMachine(host) || isPrivateAddress(host));
  const lacking = [
    ...(url.protocol === "http:" && !allowHttp ? ['"allowHttp": true'] : []),
    ...(isPrivate ? [`"allowHosts": ${JSON.stringify([...allowHosts, host])}`] : []),
  ];
  return lacking.length === 0 ? undefined : lacking.join(", ");
}

function isThisMachine(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

function isPrivateAddress(host: string): boolean {
  const address = addressIn(host);
  return address !== undefined && !isPublicAddress(address);
}

/** Answers a URL's host as `allowHosts` names it: in lower case, without a dot at the end, an IPv6 address in brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, "");
}

/** Says whether a pattern stands for a host: `example.com` for itself, `*.example.com` for all hosts below it. */
function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** Answers the address, if the host is an address. `new URL` has rewritten all spellings of an IPv4 address to one. */
function addressIn(host: string): string | undefined {
  if (host.startsWith("[")) return host.slice(1, -1);
  return /^[\d.]+$/.test(host) ? host : undefined;
}
