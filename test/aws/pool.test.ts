import { dynamoClient } from "../../src/aws/clients.ts";
import { dynamoPool } from "../../src/aws/pool.ts";
import { poolContract } from "../contract/pool-contract.ts";
import { createTable, deleteTable } from "./contract-table.ts";
import { DATABASES, startDynamo, useEndpoint } from "./emulators.ts";

for (const database of DATABASES)
  poolContract(`on the ${database} DynamoDB`, async (clock) => {
    const emulator = await startDynamo(database);
    useEndpoint("DYNAMODB", emulator.endpoint);
    const client = dynamoClient();
    const before = Date.now();
    const table = await createTable(client);
    return {
      pool: dynamoPool({ client, table, clock }),
      // Emulators answer a table's time of creation in whole seconds.
      createdBetween: [before - 1000, Date.now() + 1000],
      async close() {
        await deleteTable(client, table);
        client.destroy();
        await emulator.close();
      },
    };
  });
