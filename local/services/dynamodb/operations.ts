import type { Operations } from "../aws-endpoint.ts";
import { batchGetItem, getItem, query } from "./read-operations.ts";
import { type Requests, readRequest } from "./requests.ts";
import type { TableStore } from "./table-store.ts";
import {
  createTable,
  deleteTable,
  describeTimeToLive,
  listTables,
  showTable,
  updateTimeToLive,
} from "./tables.ts";
import { transactGetItems, transactWriteItems } from "./transactions.ts";
import {
  batchExecuteStatement,
  batchWriteItem,
  deleteItem,
  executeStatement,
  putItem,
  updateItem,
} from "./write-operations.ts";

type Answer<Request> = (store: TableStore, request: Request, now: number) => object;

const ANSWERS: { readonly [Name in keyof Requests]: Answer<Requests[Name]> } = {
  CreateTable: createTable,
  DescribeTable: showTable,
  DeleteTable: deleteTable,
  ListTables: listTables,
  DescribeTimeToLive: describeTimeToLive,
  UpdateTimeToLive: updateTimeToLive,
  GetItem: getItem,
  PutItem: putItem,
  DeleteItem: deleteItem,
  UpdateItem: updateItem,
  Query: query,
  Scan: query,
  BatchGetItem: batchGetItem,
  BatchWriteItem: batchWriteItem,
  TransactGetItems: transactGetItems,
  TransactWriteItems: transactWriteItems,
  BatchExecuteStatement: batchExecuteStatement,
  ExecuteStatement: executeStatement,
};

/**
 * DynamoDB's requests over a store: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/Welcome.html. `now`: ms since the
 * epoch. What this database does not play is refused: a member or a statement with ValidationException, an operation with
 * UnknownOperationException.
 */
export function dynamoOperations(store: TableStore, now: () => number): Operations {
  return Object.fromEntries(
    (Object.keys(ANSWERS) as (keyof Requests)[]).map((name) => {
      const answer = ANSWERS[name] as Answer<unknown>;
      return [
        `DynamoDB_20120810.${name}`,
        { answer: ({ body }) => answer(store, readRequest(name, body), now()) },
      ];
    }),
  );
}
