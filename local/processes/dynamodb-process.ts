/** `dynamodb-process <port> [database file]`. Without a file it keeps its data in memory. Ends when its parent ends. */
import { startAwsEndpoint } from "../services/aws-endpoint.ts";
import { keepDeletingExpired } from "../services/dynamodb/expiry.ts";
import { dynamoOperations } from "../services/dynamodb/operations.ts";
import { openTableStore } from "../services/dynamodb/table-store.ts";

/** The largest request: 25 items of a batch, 16 MB ("BatchWriteItem", DynamoDB API Reference). */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

process.on("disconnect", () => process.exit());

const [port, file] = process.argv.slice(2);
const store = openTableStore(file);
const endpoint = await startAwsEndpoint(dynamoOperations(store, Date.now), {
  port: Number(port),
  maxBodyBytes: MAX_BODY_BYTES,
});

process.on("SIGTERM", () => {
  void endpoint.stop().finally(() => {
    store.close();
    process.exit();
  });
});
process.send?.("ready");
keepDeletingExpired(store, Date.now, (line) => process.send?.(line));
