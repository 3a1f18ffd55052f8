import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { EmbeddedStack } from "../../local/embedded-stack.ts";

/** The addresses and credentials of the emulators, which another process can be given as JSON. */
export type Emulators = Pick<EmbeddedStack, "endpoints"> &
  Pick<EmbeddedStack["platform"], "region" | "credentials">;

export type PlainClients = { readonly dynamo: DynamoDBClient; readonly sqs: SQSClient };

const SOCKETS = { keepAlive: true, maxSockets: 64 };

/** Good settings, and no code of Minutehand. */
export function plainClients({ endpoints, region, credentials }: Emulators): PlainClients {
  const settings = { region, credentials, requestHandler: { httpAgent: SOCKETS, httpsAgent: SOCKETS } };
  const dynamo = new DynamoDBClient({ ...settings, endpoint: endpoints.dynamodb });
  // MD5 digests of messages detect networks that alter data. Here messages stay on this machine.
  const sqs = new SQSClient({ ...settings, endpoint: endpoints.sqs, md5: false });
  // This middleware copies each answer for a logger, though there is none.
  for (const { middlewareStack } of [dynamo, sqs]) middlewareStack.remove("loggerMiddleware");
  return { dynamo, sqs };
}
