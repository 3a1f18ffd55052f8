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
 * A process that both sends and polls takes two: polls keep their sockets for 20 s. Queue URLs name the
 * queue only; their host is not called, so that AWS_ENDPOINT_URL_SQS decides.
 */
export function sqsClient(): SQSClient {
  // Digests of bodies are for networks that alter them; here TLS sees to that.
  return unlogged(new SQSClient({ ...settings(REQUEST_TIMEOUT), useQueueUrlAsEndpoint: false, md5: false }));
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
