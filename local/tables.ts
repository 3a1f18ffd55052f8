import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  type DynamoDBClientConfig,
  ResourceInUseException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { createEach, type Refusal } from "./create-each.ts";
import type { TableSpec } from "./resources.ts";

/** Creates missing tables. Existing tables and their items stay. Answers the tables that DynamoDB rejects. */
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
  const input = {
    ...properties,
    TableName: name,
    BillingMode: properties.ProvisionedThroughput ? "PROVISIONED" : "PAY_PER_REQUEST",
  } as CreateTableCommandInput;
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({ client, minDelay: 1, maxWaitTime: 60 }, { TableName: name });
}
