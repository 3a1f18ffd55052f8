import { AwsError } from "../aws-error.ts";
import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { type TableStore, tableOf } from "./table-store.ts";
import { describeTable, newTable } from "./tables.ts";

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
