import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Capacity } from "./capacity.ts";

/** What every request to the table needs. */
export type Connection = {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** ms since the epoch. */
  readonly clock: () => number;
  readonly capacity: Capacity;
};
