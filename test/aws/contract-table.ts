import { randomUUID } from "node:crypto";
import { DeleteTableCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createTable as createNamedTable } from "../../bench/plain-table.ts";

/** Creates a table of the job pool's keys. Answers with its name. */
export function createTable(client: DynamoDBClient): Promise<string> {
  return createNamedTable(client, `contract-${randomUUID()}`);
}

export async function deleteTable(client: DynamoDBClient, table: string): Promise<void> {
  await client.send(new DeleteTableCommand({ TableName: table }));
}
