import { randomUUID } from "node:crypto";
import { DeleteTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createTable as createNamedTable } from "../../tools/bench/plain-table.ts";

/** Creates a table with the keys of the job pool and a name of its own. Answers the name. */
export function createTable(client: DynamoDBClient): Promise<string> {
  return createNamedTable(client, `contract-${randomUUID()}`);
}

export async function deleteTable(client: DynamoDBClient, table: string): Promise<void> {
  await client.send(new DeleteTableCommand({ TableName: table }));
}
