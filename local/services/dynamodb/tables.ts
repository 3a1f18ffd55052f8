import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import type { Table } from "./table-store.ts";

/** Reads a table from CreateTable. Its global and local indexes are played alike. */
export function newTable(request: Requests["CreateTable"], createdAt: number): Omit<Table, "id"> {
  const { TableName, KeySchema, AttributeDefinitions: attributes } = request;
  const given = [...(request.GlobalSecondaryIndexes ?? []), ...(request.LocalSecondaryIndexes ?? [])];
  const indexes = given.map(({ IndexName, KeySchema, Projection }) => ({
    IndexName,
    KeySchema,
    Projection: {
      ...(Projection?.ProjectionType !== undefined && { ProjectionType: Projection.ProjectionType }),
      ...(Projection?.NonKeyAttributes && { NonKeyAttributes: Projection.NonKeyAttributes }),
    },
  }));
  const keys = [KeySchema, ...indexes.map(({ KeySchema }) => KeySchema)].flat();
  const missing = keys.find(
    (key) => !attributes.some(({ AttributeName }) => AttributeName === key.AttributeName),
  );
  if (missing)
    throw invalid(
      `One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [${missing.AttributeName}]`,
    );
  if (KeySchema[0]?.KeyType !== "HASH")
    throw invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  return { name: TableName, keySchema: KeySchema, attributes, indexes, createdAt, timeToLive: undefined };
}

/** Answers a table as DescribeTable does. It is active at once. */
export function describeTable(table: Table, items: number): object {
  const { name, keySchema, attributes, indexes, createdAt } = table;
  return {
    TableName: name,
    TableArn: `arn:aws:dynamodb:us-east-1:000000000000:table/${name}`,
    TableStatus: "ACTIVE",
    CreationDateTime: createdAt / 1000,
    KeySchema: keySchema,
    AttributeDefinitions: attributes,
    ItemCount: items,
    TableSizeBytes: 0,
    BillingModeSummary: { BillingMode: "PAY_PER_REQUEST" },
    ...(indexes.length > 0 && {
      GlobalSecondaryIndexes: indexes.map((index) => ({ ...index, IndexStatus: "ACTIVE" })),
    }),
  };
}
