import { batchGetItem, getItem, query, scan } from "./dynamo-reads.ts";
import {
  batchExecuteStatement,
  deleteItem,
  putItem,
  transactWriteItems,
  updateItem,
} from "./dynamo-writes.ts";
import type { Row } from "./expressions.ts";
import { type Service, serviceOf, type Trouble } from "./service.ts";
import { type Settings, type Table, tableOf, write } from "./table.ts";

/** DynamoDB with one table. A request that it does not simulate is an error. */
export type Dynamo = Service & {
  rows(): Row[];
  row(pk: string, sk: string): Row | undefined;
  plant(row: Row): void;
  uproot(which: (row: Row) => boolean): void;
  /** Deletes all items that TTL has deleted by `time`, ms. `lateOf`: how many ms after its `expiresAt` an item is deleted. */
  expire(time: number, lateOf?: (pk: string, sk: string) => number): void;
};

const OPERATIONS: Record<string, (table: Table, input: never, trouble: Trouble) => unknown> = {
  DescribeTable: ({ createdAt }) => ({ Table: { CreationDateTime: new Date(createdAt) } }),
  GetItem: getItem,
  BatchGetItem: batchGetItem,
  Query: query,
  Scan: scan,
  PutItem: putItem,
  UpdateItem: updateItem,
  DeleteItem: deleteItem,
  BatchExecuteStatement: batchExecuteStatement,
  TransactWriteItems: transactWriteItems,
};

export function simulatedDynamo(settings: Settings): Dynamo {
  const table = tableOf(settings);
  const { stored } = table;
  return {
    ...serviceOf(OPERATIONS, table),
    rows: () => stored.all(),
    plant: (row) => stored.put(row),
    uproot: (which) => stored.all().filter(which).forEach(stored.drop),
    row: (pk, sk) => stored.get({ pk: { S: pk }, sk: { S: sk } }),
    expire(time, lateOf = () => 0) {
      for (const row of stored.all()) {
        const end = Number(row.expiresAt?.N ?? Number.POSITIVE_INFINITY) * 1000;
        if (end < time && end + lateOf(row.pk?.S ?? "", row.sk?.S ?? "") < time) write(table, row, undefined);
      }
    },
  };
}
