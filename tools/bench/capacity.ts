import type { ConsumedCapacity, DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** Called with the units that each request consumed. `operation`: DynamoDB's name of the request, such as `UpdateItem`. */
export type OnCapacity = (operation: string, units: { read: number; write: number }) => void;

const READS: readonly unknown[] = ["GetItem", "BatchGetItem", "Query"];

/** Makes each request of a client ask DynamoDB for the consumed units, and tells them. */
export function meterCapacity(client: DynamoDBClient, onCapacity: OnCapacity): DynamoDBClient {
  client.middlewareStack.add(
    (next, { commandName = "" }) =>
      async (args) => {
        const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: "TOTAL" } });
        const operation = String(commandName).replace(/Command$/, "");
        const { ConsumedCapacity: consumed = [] } = result.output as {
          ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[];
        };
        let units = 0;
        for (const { CapacityUnits = 0 } of [consumed].flat()) units += CapacityUnits;
        onCapacity(operation, { read: 0, write: 0, [READS.includes(operation) ? "read" : "write"]: units });
        return result;
      },
    { step: "initialize", name: "meterCapacity" },
  );
  return client;
}
