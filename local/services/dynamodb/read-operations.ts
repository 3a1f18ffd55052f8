import { hasTwice, readKey } from "./items.ts";
import { readPage } from "./pages.ts";
import { projectItem, readPath, resolvePath } from "./paths.ts";
import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { readerOf } from "./syntax.ts";
import { type TableStore, tableOf } from "./table-store.ts";
import { consumed, readUnits } from "./units.ts";
import { type Item, sizeOfItem } from "./values.ts";
import { type ExpressionRequest, placeholdersOf } from "./writes.ts";

/** "Service, account, and table quotas", DynamoDB Developer Guide. */
const MAX_BATCH_KEYS = 100;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

export function getItem(store: TableStore, request: Requests["GetItem"]): object {
  const table = tableOf(store, request.TableName);
  const item = store.get(table, readKey(table, request.Key));
  return {
    ...(item && { Item: projected(item, request) }),
    ...consumed(request, [[table, readUnits([item], request.ConsistentRead)]]),
  };
}

export function query(store: TableStore, request: Requests["Query"] | Requests["Scan"]): object {
  const table = tableOf(store, request.TableName);
  const { items, scanned, last } = readPage(store, table, request, placeholdersOf(request));
  const answer = items.map((item) => projected(item, request));
  return {
    ...(request.Select !== "COUNT" && { Items: answer }),
    Count: items.length,
    ScannedCount: scanned.length,
    ...(last && { LastEvaluatedKey: last }),
    ...consumed(request, [[table, readUnits(scanned, request.ConsistentRead)]]),
  };
}

export function batchGetItem(store: TableStore, request: Requests["BatchGetItem"]): object {
  const asked = Object.entries(request.RequestItems).flatMap(([name, { Keys, ...reading }]) => {
    const table = tableOf(store, name);
    return Keys.map((given) => ({ name, table, key: readKey(table, given), reading }));
  });
  if (asked.length > MAX_BATCH_KEYS) throw invalid("Too many items requested for the BatchGetItem call");
  if (asked.length === 0) throw invalid("The list of keys in RequestItems for BatchGetItem is required");
  if (hasTwice(asked)) throw invalid("Provided list of item keys contains duplicates");
  let bytes = 0;
  const looked = asked.map((one) => {
    const item = store.get(one.table, one.key);
    bytes += item ? sizeOfItem(item) : 0;
    return { ...one, item, isRead: bytes <= MAX_BATCH_BYTES };
  });
  const read = looked.filter(({ isRead }) => isRead);
  return {
    Responses: byTable(looked, (ofTable) =>
      ofTable.flatMap(({ item, isRead, reading }) => (item && isRead ? [projected(item, reading)] : [])),
    ),
    UnprocessedKeys: byTable(
      looked.filter(({ isRead }) => !isRead),
      (ofTable) => ({ ...ofTable[0]?.reading, Keys: ofTable.map(({ key }) => key) }),
    ),
    ...consumed(
      request,
      read.map(({ table, item, reading }) => [table, readUnits([item], reading.ConsistentRead)]),
      "list",
    ),
  };
}

function byTable<T extends { readonly name: string }>(
  all: readonly T[],
  answer: (ofTable: readonly T[]) => object,
): Record<string, object> {
  const groups = Object.entries(Object.groupBy(all, ({ name }) => name));
  return Object.fromEntries(groups.map(([name, ofTable = []]) => [name, answer(ofTable)]));
}

export function projected(
  item: Item,
  request: ExpressionRequest & { readonly ProjectionExpression?: string | undefined },
): Item {
  if (request.ProjectionExpression === undefined) return item;
  const names = request.ExpressionAttributeNames ?? {};
  const reader = readerOf(request.ProjectionExpression, "Invalid ProjectionExpression");
  const paths = [];
  do paths.push(resolvePath(readPath(reader), { names, values: {} }));
  while (reader.take(","));
  reader.end();
  return projectItem(item, paths);
}
