import { randomUUID } from "node:crypto";
import { authorizeBy } from "./authorize.ts";
import type { Client, ClientOptions, TopicBodies } from "./client.ts";
import { clientOver } from "./client-over.ts";
import { httpTransport } from "./http-transport.ts";

/** ms. A pull may wait for 20 s. */
const TIMEOUT = 30_000;
const RETRIES = 5;
const FIRST_WAIT = 300;

/** The queue behind an HTTP API. Throws a RangeError for options that make no sense. */
export function createClient<Topics = TopicBodies>(options: ClientOptions): Client<Topics> {
  const { url, timeout = TIMEOUT, retries = RETRIES } = options;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new RangeError(`url must be the API's, such as https://api.example.com, got ${url}`);
  }
  const authorize = authorizeBy(options);
  const transport = httpTransport({
    authorize,
    timeout,
    retries,
    firstWait: FIRST_WAIT,
    random: Math.random,
  });
  return clientOver({ transport, url, clock: Date.now, newKey: randomUUID });
}
