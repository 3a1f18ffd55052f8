import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { RandomBytes } from "../core/job-id.ts";

/** The parts that each request to the table needs. */
export type Connection = {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** ms since the epoch. */
  readonly clock: () => number;
  /** Resolves after `ms` milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
  readonly random: RandomBytes;
  /** How many statements one call has at most. */
  readonly statements: number;
};
