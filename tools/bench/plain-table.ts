import {
  type AttributeValue,
  BatchExecuteStatementCommand,
  type BatchStatementRequest,
  CreateTableCommand,
  type DynamoDBClient,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { STATEMENT_BATCH } from "../../src/core/constants.ts";
import type { Home } from "../../src/core/home.ts";
import { load } from "./load.ts";

/** How many batches are in flight at once: as many as in one call of Minutehand (`src/aws/statements.ts`, `src/aws/send.ts`). */
export const WIDTH = 8;

export type Attributes = Record<string, AttributeValue>;

/** Converts homes to attributes beforehand, so that the ceiling's time does not include it. */
export function attributesOf(homes: readonly Home[]): Attributes[] {
  return homes.map((home) => marshall(home));
}

function insertion(table: string, item: Attributes): BatchStatementRequest {
  const names = Object.keys(item).map((name) => `'${name}': ?`);
  return {
    Statement: `INSERT INTO "${table}" VALUE {${names.join(", ")}}`,
    Parameters: Object.values(item),
  };
}

export async function runStatements(
  client: DynamoDBClient,
  statements: BatchStatementRequest[],
): Promise<void> {
  const { Responses = [] } = await client.send(new BatchExecuteStatementCommand({ Statements: statements }));
  const refused = Responses.find((response) => response.Error)?.Error;
  if (refused) throw new Error(`a plain statement failed: ${refused.Code}: ${refused.Message}`);
}

export async function insertAll(
  client: DynamoDBClient,
  table: string,
  items: readonly Attributes[],
): Promise<number> {
  const calls = Math.ceil(items.length / STATEMENT_BATCH);
  const { perSecond } = await load(calls, WIDTH, (call) => {
    const batch = items.slice(call * STATEMENT_BATCH, (call + 1) * STATEMENT_BATCH);
    return runStatements(
      client,
      batch.map((item) => insertion(table, item)),
    );
  });
  return (perSecond * items.length) / calls;
}

export async function createTable(client: DynamoDBClient, table: string): Promise<string> {
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [
        { AttributeName: "pk", KeyType: "HASH" },
        { AttributeName: "sk", KeyType: "RANGE" },
      ],
      AttributeDefinitions: [
        { AttributeName: "pk", AttributeType: "S" },
        { AttributeName: "sk", AttributeType: "S" },
      ],
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 0.1 }, { TableName: table });
  return table;
}
