import { lookup as lookUp } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { hostOf } from "../../settings/callback-url.ts";
import { isPublicAddress } from "../../settings/public-address.ts";
import { answerWithin } from "../answer-within.ts";
import { startOfBody } from "./body-text.ts";
import type { Call, Post, Reply } from "./call.ts";

/** Every call has a connection of its own, so that it connects only to addresses that were checked for it, and follows no redirect. */
export function httpPost(lookup: LookupFunction = lookUp as LookupFunction): Post {
  return (call, signal) =>
    answerWithin(call.policy.timeout, signal, (either) => exchange(call, either, lookup));
}

async function exchange(call: Call, signal: AbortSignal, lookup: LookupFunction): Promise<Reply> {
  const response = await respond(call, signal, lookup);
  const retryAfter = response.headers["retry-after"];
  return {
    status: response.statusCode ?? 0,
    body: await startOfBody(response, response.headers),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

function respond(call: Call, signal: AbortSignal, lookup: LookupFunction): Promise<IncomingMessage> {
  const url = new URL(call.url);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const allowed = call.policy.allowHosts.includes(hostOf(url));
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: "POST",
      headers: call.headers,
      agent: false,
      signal,
      lookup: refusing(lookup, allowed ? () => true : isPublicAddress),
    });
    sent.once("response", resolve);
    sent.once("error", reject);
    // A connection may close with neither, for example after an answer that asks for another protocol.
    sent.once("close", () => reject(new Error("the connection was closed without an answer")));
    sent.end(call.body);
  });
}

/** Refuses a host if one of its addresses may not be called. The socket uses these answers: a later change of the name does not matter. */
function refusing(lookup: LookupFunction, mayBeCalled: (address: string) => boolean): LookupFunction {
  return (hostname, options, told) => {
    lookup(hostname, options, (error, found, family) => {
      if (error) return told(error, found, family);
      const addresses = typeof found === "string" ? [found] : found.map(({ address }) => address);
      const refused = addresses.find((address) => !mayBeCalled(address));
      if (refused !== undefined)
        return told(new Error(`${hostname} is at ${refused}, which is not a public address`), []);
      // Otherwise Node would fail with an error about its own arguments.
      if (addresses.length === 0) return told(new Error(`${hostname} has no address`), []);
      told(null, found, family);
    });
  };
}
