import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { CALL_TRIES, NO_ANSWER_AFTER } from "../core/constants.ts";
import { Sha256 } from "./sha256.ts";

/** ms. Without timeouts the SDK waits for ever. */
const CONNECTION_TIMEOUT = 1000;
export const REQUEST_TIMEOUT = NO_ANSWER_AFTER;

/** How many requests of a client are in flight at once. Further requests wait for a socket. */
const MAX_SOCKETS = 64;

export function settings(requestTimeout = REQUEST_TIMEOUT, maxSockets = MAX_SOCKETS) {
  const sockets = { keepAlive: true, maxSockets };
  return {
    maxAttempts: CALL_TRIES,
    retryMode: "standard",
    sha256: Sha256,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT,
      requestTimeout,
      // By default the SDK only logs the timeout, and the request continues.
      throwOnRequestTimeout: true,
      httpAgent: sockets,
      httpsAgent: sockets,
    },
  };
}

type Client = { middlewareStack: { remove(name: string): boolean } };

/** Even without a logger, the SDK's logging copies each answer, which for a large page takes a quarter of the time. */
export function withoutLogger<C extends Client>(client: C): C {
  client.middlewareStack.remove("loggerMiddleware");
  return client;
}

/** `requestTimeout`: ms that each try may take. */
export function dynamoClient(requestTimeout = REQUEST_TIMEOUT): DynamoDBClient {
  return withoutLogger(new DynamoDBClient(settings(requestTimeout)));
}

/**
 * Removes `Lineage` from the trace header of requests. By it Lambda counts invocations in a row, and drops a message after 16 ("Recursive
 * loop detection", Lambda Developer Guide). Retries and runs that a job asks for lead to more.
 */
export function withoutLineage(client: SQSClient): SQSClient {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers = {} } = args.request as { headers?: Record<string, string> };
      for (const [name, value] of Object.entries(headers))
        if (name.toLowerCase() === "x-amzn-trace-id") headers[name] = partsWithoutLineage(value).join(";");
      return next(args);
    },
    // The SDK adds the header in this step with this priority, and before, because its middleware was added earlier.
    { step: "build", priority: "low", name: "withoutLineage" },
  );
  return client;
}

function partsWithoutLineage(traceHeader: string): string[] {
  // rule: lineage-not-passed-on
  return traceHeader.split(";").filter((part) => !part.startsWith("Lineage="));
}

/** Does not call the host in a queue's URL, so that AWS_ENDPOINT_URL_SQS can name another host. */
export function sqsClient(maxSockets = MAX_SOCKETS): SQSClient {
  const shared = settings(REQUEST_TIMEOUT, maxSockets);
  // MD5 digests of bodies detect networks that alter data. TLS detects that already.
  const client = new SQSClient({ ...shared, useQueueUrlAsEndpoint: false, md5: false });
  return withoutLineage(withoutLogger(client));
}

/** The client for long polls of a process that makes other calls too. A poll keeps its socket for up to 20 s, and one that waited for a socket would exceed its timeout. */
export function longPollClient(): SQSClient {
  return sqsClient(Number.POSITIVE_INFINITY);
}

export function secretsClient(): SecretsManagerClient {
  return withoutLogger(new SecretsManagerClient(settings(REQUEST_TIMEOUT)));
}
