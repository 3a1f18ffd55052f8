import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { RandomBytes } from "../core/job-id.ts";

export type Connection = {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** ms since the epoch. */
  readonly clock: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly random: RandomBytes;
  /** How many statements one call has at most. */
  readonly statements: number;
};
