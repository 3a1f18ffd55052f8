import type { Authorize } from "../src/client/authorize.ts";
import { type Call, callOver } from "../src/client/call.ts";
import { httpTransport } from "../src/client/http-transport.ts";

/** How long an answer may take, ms. API Gateway answers within 30 s. */
const TIMEOUT = 35_000;
/** Nobody waits for an action, so it may outlast a minute of failures. */
const RETRIES = 8;
const FIRST_WAIT = 300;

/** Calls the API as the page does, and repeats calls that got no answer. */
export function callForActions(url: string, authorize: Authorize): Call {
  const sent = { authorize, timeout: TIMEOUT, retries: RETRIES, firstWait: FIRST_WAIT };
  return callOver(httpTransport({ ...sent, random: Math.random }), url);
}
