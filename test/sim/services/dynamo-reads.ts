import type {
  BatchGetItemCommandInput,
  GetItemCommandInput,
  QueryCommandInput,
  ScanCommandInput,
} from "@aws-sdk/client-dynamodb";
import type { Row } from "./expressions.ts";
import type { Trouble } from "./service.ts";
import { admits, mustAdmit, mustFit, type Table, throttled } from "./table.ts";

export function getItem(table: Table, { Key, ConsistentRead }: GetItemCommandInput): object {
  mustBeConsistent(ConsistentRead);
  const row = table.stored.get(Key as Row);
  mustAdmit(table, "read", Key as Row, row);
  return row ? { Item: { ...row } } : {};
}

export function batchGetItem(
  table: Table,
  { RequestItems = {} }: BatchGetItemCommandInput,
  trouble: Trouble,
): object {
  const { stored } = table;
  const [[name, { Keys = [], ConsistentRead }]] = Object.entries(RequestItems) as [
    [string, NonNullable<BatchGetItemCommandInput["RequestItems"]>[string]],
  ];
  const keys = Keys as Row[];
  mustBeConsistent(ConsistentRead);
  mustFit("keys", keys);
  const refused = new Set(keys.filter((key) => !admits(table, "read", key, stored.get(key))));
  if (refused.size === keys.length) throw throttled();
  const unprocessed = keys.filter(
    (key) => refused.has(key) || trouble.entryFails(key.sk?.S, key.pk?.S) !== undefined,
  );
  const read = keys.filter((key) => !unprocessed.includes(key));
  const found = read.map((key) => stored.get(key)).filter((row) => row !== undefined);
  return {
    Responses: { [name]: found.map((row): Row => ({ ...row })) },
    UnprocessedKeys: unprocessed.length > 0 ? { [name]: { Keys: unprocessed } } : {},
  };
}

export function query(table: Table, input: QueryCommandInput): object {
  const { KeyConditionExpression, ExpressionAttributeValues: values = {}, Limit = 1000 } = input;
  mustBeConsistent(input.ConsistentRead);
  if (KeyConditionExpression !== "pk = :pk AND sk BETWEEN :from AND :before")
    throw new Error(`no such query here: ${KeyConditionExpression}`);
  const text = (name: string) => values[name]?.S ?? "";
  const most = Math.min(Limit, table.pageItems);
  const { rows, more } = table.stored.between(text(":pk"), text(":from"), text(":before"), most);
  const last = rows.at(-1);
  mustAdmit(table, "read", { pk: { S: text(":pk") } }, ...rows);
  return {
    Items: rows.map((row) => ({ ...row })),
    ...(more && last ? { LastEvaluatedKey: { pk: last.pk, sk: last.sk } } : {}),
  };
}

/** In the order of the keys. DynamoDB promises no order. */
export function scan(table: Table, { Limit = 1000, ...input }: ScanCommandInput): object {
  mustBeConsistent(input.ConsistentRead);
  const start = input.ExclusiveStartKey && placeOf(input.ExclusiveStartKey as Row);
  const rest = table.stored
    .all()
    .filter((row) => start === undefined || placeOf(row) > start)
    .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const rows = rest.slice(0, Math.min(Limit, table.pageItems));
  const last = rows.at(-1);
  mustAdmit(table, "read", { pk: { S: last?.pk?.S ?? "" } }, ...rows);
  return {
    Items: rows.map((row) => ({ ...row })),
    ...(rest.length > rows.length && last ? { LastEvaluatedKey: { pk: last.pk, sk: last.sk } } : {}),
  };
}

function placeOf({ pk, sk }: Row): string {
  return `${pk?.S} ${sk?.S}`;
}

function mustBeConsistent(asked: boolean | undefined): void {
  if (!asked) throw new Error("a read that is not strongly consistent may answer anything");
}
