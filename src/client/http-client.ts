import { randomUUID } from "node:crypto";
import { LONGEST_TIMER } from "../core/constants.ts";
import { authorizeBy } from "./authorize.ts";
import type { Transport } from "./call.ts";
import {
  type SchemaOptions,
  type TopicBodies,
  type TopicSchemas,
  type TopicsOf,
  withSchemas,
} from "./check-bodies.ts";
import { checkClientOptions } from "./check-options.ts";
import type { Client } from "./client.ts";
import { clientOver } from "./client-over.ts";
import { httpTransport } from "./http-transport.ts";
import { withOrigin } from "./with-origin.ts";

export type ClientOptions = SchemaOptions & {
  /** The URL of the API, with the path of its stage if it has one. */
  url: string;
  /**
   * How the client authenticates. `"iam"`: signs each request (SigV4) with the credentials that the AWS SDK would use. `{ bearer }`:
   * sends a token. The default is `"none"` for loopback addresses and `"iam"` for hosts of API Gateway. For other hosts `auth` is
   * required.
   */
  auth?: "iam" | "none" | { bearer: string | (() => Promise<string>) };
  /** The AWS region of the signatures, for a host whose name does not contain its region. */
  region?: string;
  /** How long one try may take, in ms; 30,000 by default. For a `receive` the least value is its `waitSeconds` and 10 s more. */
  timeout?: number;
  /** Retries after a network error, a timeout, or the status 429, 502, 503 or 504; of a `receive` only after 429. 0 to 100; 5 by default. */
  retries?: number;
};

/** ms. Longer than the 29 s after which Lambda stops the API's function. */
const TIMEOUT = 30_000;
const RETRIES = 5;
const MOST_RETRIES = 100;
const FIRST_WAIT = 300;

/**
 * Creates a client for the queue's HTTP API. Throws a `RangeError` for an unknown option or a value out of its range, if the host implies no
 * `auth`, and if no region is known to sign for. With `schemas`, the topics and the types of their bodies are those of the schemas.
 *
 * @example
 * const client = createClient({ url: "https://abc123.execute-api.eu-central-1.amazonaws.com" });
 * await client.enqueue("order-timeout", { orderId: "17" }, { key: "order-17", delay: "30m" });
 */
export function createClient<const Schemas extends TopicSchemas>(
  options: ClientOptions & { schemas: Schemas },
): Client<TopicsOf<Schemas>>;
export function createClient<Topics = TopicBodies>(options: ClientOptions): Client<Topics>;
export function createClient<Topics = TopicBodies>(options: ClientOptions): Client<Topics> {
  const transport = transportFor(options);
  const { url, schemas } = options;
  return withSchemas(
    clientOver<Topics>({ transport: withOrigin(transport), url, newKey: randomUUID }),
    schemas,
  );
}

/** The transport of `createClient`. It throws the same errors for options. */
export function transportFor(options: ClientOptions): Transport {
  checkClientOptions(options);
  const { url, auth, timeout = TIMEOUT, retries = RETRIES } = options;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new RangeError(
      `url must be the URL of an API with https:// or http://, such as https://api.example.com, got ${url}`,
    );
  }
  check(
    "timeout",
    timeout > 0 && timeout <= LONGEST_TIMER,
    timeout,
    `a number of ms, more than 0 and at most ${LONGEST_TIMER}`,
  );
  check(
    "retries",
    Number.isInteger(retries) && retries >= 0 && retries <= MOST_RETRIES,
    retries,
    `a whole number from 0 to ${MOST_RETRIES}`,
  );
  check(
    "auth",
    isAuth(auth),
    typeof auth === "string" ? JSON.stringify(auth) : typeof auth,
    '"iam", "none" or { bearer } with a token or a function',
  );
  const authorize = authorizeBy(options);
  return httpTransport({ authorize, timeout, retries, firstWait: FIRST_WAIT, random: Math.random });
}

function check(option: string, holds: boolean, actual: string | number, allowed: string): void {
  if (!holds) throw new RangeError(`${option} must be ${allowed}, got ${actual}`);
}

/** Plain JavaScript does not check the declared type. */
function isAuth(auth: ClientOptions["auth"]): boolean {
  if (auth === undefined || auth === "iam" || auth === "none") return true;
  return ["string", "function"].includes(typeof (auth as { bearer?: unknown } | null)?.bearer);
}
