import { DescribeTableCommand, DynamoDBClient, UpdateTableCommand } from "@aws-sdk/client-dynamodb";
import { settings } from "./clients.ts";
import { unavailable } from "./unknown.ts";

/** How many units a second a table takes at once, without time to grow ("Understanding DynamoDB warm throughput", DynamoDB Developer Guide). */
export type Warmth = { readonly read: number; readonly write: number };

/** Throws `unavailable`. */
export async function warmthOf(table: string): Promise<Warmth> {
  try {
    const { Table } = await new DynamoDBClient(settings()).send(
      new DescribeTableCommand({ TableName: table }),
    );
    const { ReadUnitsPerSecond: read, WriteUnitsPerSecond: write } = Table?.WarmThroughput ?? {};
    if (read === undefined || write === undefined) throw new Error("the answer has no WarmThroughput");
    return { read, write };
  } catch (thrown) {
    throw unavailable(`DynamoDB did not say for how many units the table ${table} is warm`, thrown);
  }
}

/** Raises what is given. DynamoDB refuses a lower value, and never lowers one by itself. Throws `unavailable`. */
export async function warmTable(table: string, { read, write }: Partial<Warmth>): Promise<void> {
  const WarmThroughput = {
    ...(read !== undefined && { ReadUnitsPerSecond: read }),
    ...(write !== undefined && { WriteUnitsPerSecond: write }),
  };
  try {
    await new DynamoDBClient(settings()).send(new UpdateTableCommand({ TableName: table, WarmThroughput }));
  } catch (thrown) {
    throw unavailable(`DynamoDB did not warm the table ${table}`, thrown);
  }
}
