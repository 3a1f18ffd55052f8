import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
  ResourceInUseException,
  type TimeToLiveSpecification,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { createEach, type Refusal } from "./create-each.ts";
import type { TableSpec } from "./resources.ts";

/** Existing tables and their items stay. Answers the tables that DynamoDB rejects. */
export async function createTables(
  tables: readonly TableSpec[],
  config: DynamoDBClientConfig,
): Promise<Refusal[]> {
  const client = new DynamoDBClient(config);
  const refusals = await createEach("table", tables, (table) => createTable(client, table));
  client.destroy();
  return refusals;
}

async function createTable(client: DynamoDBClient, { name, properties }: TableSpec): Promise<void> {
  const { TimeToLiveSpecification: timeToLive, ...created } = properties;
  const input = {
    ...created,
    TableName: name,
    BillingMode: properties.ProvisionedThroughput ? "PROVISIONED" : "PAY_PER_REQUEST",
  } as CreateTableCommandInput;
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 60 }, { TableName: name });
  if (timeToLive) await setTimeToLive(client, name, timeToLive as unknown as TimeToLiveSpecification);
}

/** Switches the deletion of expired items on, unless it is on. DynamoDB refuses to switch it on twice. */
async function setTimeToLive(
  client: DynamoDBClient,
  name: string,
  wanted: TimeToLiveSpecification,
): Promise<void> {
  const { TimeToLiveDescription: now } = await client.send(
    new DescribeTimeToLiveCommand({ TableName: name }),
  );
  if (now?.TimeToLiveStatus === "ENABLED" || now?.TimeToLiveStatus === "ENABLING") return;
  await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification: wanted }));
}
