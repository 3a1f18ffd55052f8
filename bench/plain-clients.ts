import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { EmbeddedStack } from "../local/embedded-stack.ts";

/** Where the emulators are, as a process of its own can be told. */
export type Emulators = Pick<EmbeddedStack, "endpoints"> &
  Pick<EmbeddedStack["platform"], "region" | "credentials">;

export type PlainClients = { readonly dynamo: DynamoDBClient; readonly sqs: SQSClient };

const SOCKETS = { keepAlive: true, maxSockets: 64 };

/** The AWS SDK as a good client sets it up, and nothing of ours. */
export function plainClients({ endpoints, region, credentials }: Emulators): PlainClients {
  const settings = { region, credentials, requestHandler: { httpAgent: SOCKETS, httpsAgent: SOCKETS } };
  const dynamo = new DynamoDBClient({ ...settings, endpoint: endpoints.dynamodb });
  // The digests of messages are worth nothing where TLS, or the same machine, carries them.
  const sqs = new SQSClient({ ...settings, endpoint: endpoints.sqs, md5: false });
  // It copies every answer for a logger that there is none of.
  for (const { middlewareStack } of [dynamo, sqs]) middlewareStack.remove("loggerMiddleware");
  return { dynamo, sqs };
}
