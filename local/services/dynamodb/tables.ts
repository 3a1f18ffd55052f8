import { AwsError } from "../aws-error.ts";
import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { type Table, type TableStore, tableOf } from "./table-store.ts";

export function createTable(store: TableStore, request: Requests["CreateTable"], now: number): object {
  if (store.table(request.TableName))
    throw new AwsError("ResourceInUseException", 400, `Table already exists: ${request.TableName}`);
  return { TableDescription: describeTable(store.createTable(newTable(request, now)), 0) };
}

export function showTable(store: TableStore, { TableName }: Requests["DescribeTable"]): object {
  const table = tableOf(store, TableName);
  return { Table: describeTable(table, store.count(table)) };
}

export function deleteTable(store: TableStore, { TableName }: Requests["DeleteTable"]): object {
  const table = tableOf(store, TableName);
  store.together(() => store.deleteTable(table));
  return { TableDescription: { ...describeTable(table, 0), TableStatus: "DELETING" } };
}

export function listTables(
  store: TableStore,
  { ExclusiveStartTableName = "", Limit = 100 }: Requests["ListTables"],
): object {
  const names = store.tables().map(({ name }) => name);
  const rest = names.filter((name) => name > ExclusiveStartTableName);
  const TableNames = rest.slice(0, Limit);
  return { TableNames, ...(rest.length > Limit && { LastEvaluatedTableName: TableNames.at(-1) }) };
}

export function describeTimeToLive(store: TableStore, { TableName }: Requests["DescribeTimeToLive"]): object {
  const { timeToLive } = tableOf(store, TableName);
  const on = { TimeToLiveStatus: "ENABLED", AttributeName: timeToLive };
  return { TimeToLiveDescription: timeToLive === undefined ? { TimeToLiveStatus: "DISABLED" } : on };
}

export function updateTimeToLive(
  store: TableStore,
  { TableName, TimeToLiveSpecification }: Requests["UpdateTimeToLive"],
): object {
  const { AttributeName, Enabled } = TimeToLiveSpecification;
  const table = tableOf(store, TableName);
  if (Enabled === (table.timeToLive !== undefined))
    throw invalid(`TimeToLive is already ${Enabled ? "enabled" : "disabled"}`);
  store.together(() => store.setTimeToLive(table, Enabled ? AttributeName : undefined));
  return { TimeToLiveSpecification };
}

/** Global and local indexes are played alike. */
function newTable(request: Requests["CreateTable"], createdAt: number): Omit<Table, "id"> {
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

/** A table is active at once. */
function describeTable(table: Table, items: number): object {
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
