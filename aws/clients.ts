import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";

/** ms. Without these the SDK waits for ever. */
const CONNECTION_TIMEOUT = 1000;
export const REQUEST_TIMEOUT = 5000;
const PROMOTION_TIMEOUT = 2000;

const SOCKETS = { keepAlive: true, maxSockets: 64 };

/** What every client is given. `requestTimeout` is ms, of each try. */
export function settings(requestTimeout = REQUEST_TIMEOUT) {
  return {
    maxAttempts: 3,
    retryMode: "standard",
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT,
      requestTimeout,
      // By default a timeout is only logged, and the request goes on.
      throwOnRequestTimeout: true,
      httpAgent: SOCKETS,
      httpsAgent: SOCKETS,
    },
  };
}

type Client = { middlewareStack: { remove(name: string): boolean } };

/**
 * The SDK copies every answer, field by field, for a logger that there is none of: a quarter of the time that
 * a large page takes.
 */
function unlogged<C extends Client>(client: C): C {
  client.middlewareStack.remove("loggerMiddleware");
  return client;
}

/** Region, credentials and endpoint come from the environment. `requestTimeout` is ms, of each try. */
export function dynamoClient(requestTimeout = REQUEST_TIMEOUT): DynamoDBClient {
  return unlogged(new DynamoDBClient(settings(requestTimeout)));
}

/**
 * Leaves the count of invocations out of the trace header. By `Lineage` Lambda counts how many invocations in a row led to a
 * message, and drops the message after 16 ("Recursive loop detection", Lambda Developer Guide). A job that asks again every ten
 * minutes comes through more, and so do retries and jobs that are given back. The rest of the trace stays. What a handler sends
 * through its own clients is counted as ever.
 */
export function withoutLineage(client: SQSClient): SQSClient {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers = {} } = args.request as { headers?: Record<string, string> };
      for (const [name, value] of Object.entries(headers))
        if (name.toLowerCase() === "x-amzn-trace-id") headers[name] = partsOf(value).join(";");
      return next(args);
    },
    // The SDK adds the header in the same step, with the same priority, and before.
    { step: "build", priority: "low", name: "withoutLineage" },
  );
  return client;
}

function partsOf(traceHeader: string): string[] {
  // rule: lineage-not-passed-on
  return traceHeader.split(";").filter((part) => !part.startsWith("Lineage="));
}

/**
 * A process that both sends and polls takes two: polls keep their sockets for 20 s. Queue URLs name the
 * queue only; their host is not called, so that AWS_ENDPOINT_URL_SQS decides.
 */
export function sqsClient(): SQSClient {
  // Digests of bodies are for networks that alter them; here TLS sees to that.
  const client = new SQSClient({ ...settings(REQUEST_TIMEOUT), useQueueUrlAsEndpoint: false, md5: false });
  return withoutLineage(unlogged(client));
}

export function secretsClient(): SecretsManagerClient {
  return unlogged(new SecretsManagerClient(settings(REQUEST_TIMEOUT)));
}

export function lambdaClient(): LambdaClient {
  return unlogged(new LambdaClient(settings(REQUEST_TIMEOUT)));
}

export function schedulerClient(): SchedulerClient {
  return unlogged(new SchedulerClient(settings(REQUEST_TIMEOUT)));
}

/** For schedules that the sweep can do without: nobody waits long for them. */
export function promotionsClient(): SchedulerClient {
  return unlogged(new SchedulerClient({ ...settings(PROMOTION_TIMEOUT), maxAttempts: 1 }));
}
