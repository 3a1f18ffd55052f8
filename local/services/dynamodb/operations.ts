import { createHash } from "node:crypto";
import type { Operations } from "../aws-endpoint.ts";
import { AwsError } from "../aws-error.ts";
import { readKey } from "./items.ts";
import { readPage } from "./pages.ts";
import { projectItem, readPath, resolvePath } from "./paths.ts";
import { conditionFailed, invalid } from "./refusals.ts";
import { type Requests, readRequest } from "./requests.ts";
import { readerOf } from "./syntax.ts";
import type { Table, TableStore } from "./table-store.ts";
import { describeTable, newTable } from "./tables.ts";
import { consumed, readUnits, writeUnits } from "./units.ts";
import { type Item, readItem, sizeOfItem } from "./values.ts";
import { type ExpressionRequest, placeholdersOf, type Write, writesOn } from "./writes.ts";

/** "Service, account, and table quotas", DynamoDB Developer Guide. */
const MAX_STATEMENTS = 25;
const MAX_BATCH_KEYS = 100;
const MAX_BATCH_WRITES = 25;
const MAX_TRANSACTION = 100;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/**
 * Plays DynamoDB over a store, at the level of its requests:
 * https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/Welcome.html. `now`: ms since the epoch. A member or a statement
 * that DynamoDB knows and this database does not is refused with a ValidationException, and such an operation with
 * UnknownOperationException.
 */
export function dynamoOperations(store: TableStore, now: () => number): Operations {
  const tableOf = (name: string): Table => {
    const table = store.table(name);
    if (!table)
      throw new AwsError(
        "ResourceNotFoundException",
        400,
        `Requested resource not found: Table: ${name} not found`,
      );
    return table;
  };

  const writes = writesOn(tableOf);

  function write({ table, key, holds, after, answersOld }: Write): { before?: Item; after?: Item } {
    const before = store.get(table, key);
    if (!holds(before)) throw conditionFailed(answersOld ? before : undefined);
    const item = after(before);
    if (item) store.put(table, item);
    else if (before) store.remove(table, key);
    return { ...(before && { before }), ...(item && { after: item }) };
  }

  const answers: { [Name in keyof Requests]: (request: Requests[Name]) => object } = {
    CreateTable: (request) => {
      if (store.table(request.TableName))
        throw new AwsError("ResourceInUseException", 400, `Table already exists: ${request.TableName}`);
      return { TableDescription: describeTable(store.createTable(newTable(request, now())), 0) };
    },
    DescribeTable: ({ TableName }) => {
      const table = tableOf(TableName);
      return { Table: describeTable(table, store.count(table)) };
    },
    DeleteTable: ({ TableName }) => {
      const table = tableOf(TableName);
      store.together(() => store.deleteTable(table));
      return { TableDescription: { ...describeTable(table, 0), TableStatus: "DELETING" } };
    },
    ListTables: ({ ExclusiveStartTableName = "", Limit = 100 }) => {
      const names = store.tables().map(({ name }) => name);
      const rest = names.filter((name) => name > ExclusiveStartTableName);
      const TableNames = rest.slice(0, Limit);
      return { TableNames, ...(rest.length > Limit && { LastEvaluatedTableName: TableNames.at(-1) }) };
    },
    DescribeTimeToLive: ({ TableName }) => {
      const { timeToLive } = tableOf(TableName);
      const on = { TimeToLiveStatus: "ENABLED", AttributeName: timeToLive };
      return { TimeToLiveDescription: timeToLive === undefined ? { TimeToLiveStatus: "DISABLED" } : on };
    },
    UpdateTimeToLive: ({ TableName, TimeToLiveSpecification }) => {
      const { AttributeName, Enabled } = TimeToLiveSpecification;
      const table = tableOf(TableName);
      if (Enabled === (table.timeToLive !== undefined))
        throw invalid(`TimeToLive is already ${Enabled ? "enabled" : "disabled"}`);
      store.together(() => store.setTimeToLive(table, Enabled ? AttributeName : undefined));
      return { TimeToLiveSpecification };
    },

    GetItem: (request) => {
      const table = tableOf(request.TableName);
      const item = store.get(table, readKey(table, request.Key));
      return {
        ...(item && { Item: projected(item, request) }),
        ...consumed(request, [[table, readUnits([item], request.ConsistentRead)]]),
      };
    },
    PutItem: (request) => {
      const asked = writes.putOf(request);
      const { before } = write(asked);
      const old = mustBe(request.ReturnValues, "NONE", "ALL_OLD") === "ALL_OLD";
      return {
        ...(old && before && { Attributes: before }),
        ...consumed(request, [[asked.table, writeUnits(before, readItem(request.Item))]]),
      };
    },
    DeleteItem: (request) => {
      const asked = writes.deleteOf(request);
      const { before } = write(asked);
      const old = mustBe(request.ReturnValues, "NONE", "ALL_OLD") === "ALL_OLD";
      return {
        ...(old && before && { Attributes: before }),
        ...consumed(request, [[asked.table, writeUnits(before)]]),
      };
    },
    UpdateItem: (request) => {
      const asked = writes.updateOf(request);
      const { before, after } = write(asked);
      const attributes = {
        NONE: undefined,
        ALL_OLD: before,
        ALL_NEW: after,
        UPDATED_OLD: before && projectItem(before, asked.paths(before)),
        UPDATED_NEW: after && projectItem(after, asked.paths(before)),
      }[request.ReturnValues ?? "NONE"];
      return {
        ...(attributes && Object.keys(attributes).length > 0 && { Attributes: attributes }),
        ...consumed(request, [[asked.table, writeUnits(before, after)]]),
      };
    },

    Query: (request) => page(request),
    Scan: (request) => page(request),

    BatchGetItem: (request) => {
      const { RequestItems } = request;
      const asked = Object.entries(RequestItems).flatMap(([name, { Keys, ...reading }]) => {
        const table = tableOf(name);
        return Keys.map((key) => ({ name, table, key: readKey(table, key), reading }));
      });
      if (asked.length > MAX_BATCH_KEYS) throw invalid("Too many items requested for the BatchGetItem call");
      if (asked.length === 0) throw invalid("The list of keys in RequestItems for BatchGetItem is required");
      if (hasTwice(asked)) throw invalid("Provided list of item keys contains duplicates");
      const Responses: Record<string, Item[]> = {};
      const UnprocessedKeys: Record<string, (typeof RequestItems)[string]> = {};
      const units: [Table, number][] = [];
      let bytes = 0;
      for (const { name, table, key, reading } of asked) {
        Responses[name] ??= [];
        const item = store.get(table, key);
        bytes += item ? sizeOfItem(item) : 0;
        if (bytes > MAX_BATCH_BYTES) {
          const left = UnprocessedKeys[name]?.Keys ?? [];
          UnprocessedKeys[name] = { ...reading, Keys: [...left, key] };
          continue;
        }
        if (item) Responses[name].push(projected(item, reading));
        units.push([table, readUnits([item], reading.ConsistentRead)]);
      }
      return { Responses, UnprocessedKeys, ...consumed(request, units, "list") };
    },
    BatchWriteItem: (request) => {
      const asked = Object.entries(request.RequestItems).flatMap(([TableName, requests]) =>
        requests.map(({ PutRequest, DeleteRequest }) =>
          PutRequest
            ? writes.putOf({ TableName, ...PutRequest })
            : writes.deleteOf({ TableName, Key: DeleteRequest?.Key ?? {} }),
        ),
      );
      if (asked.length < 1 || asked.length > MAX_BATCH_WRITES)
        throw invalid("Too many items requested for the BatchWriteItem call");
      if (hasTwice(asked)) throw invalid("Provided list of item keys contains duplicates");
      const units = store.together(() =>
        asked.map((one): [Table, number] => {
          const { before, after } = write(one);
          return [one.table, writeUnits(before, after)];
        }),
      );
      return { UnprocessedItems: {}, ...consumed(request, units, "list") };
    },

    TransactGetItems: (request) => {
      const asked = request.TransactItems.map(({ Get }) => {
        const table = tableOf(Get.TableName);
        return { Get, table, key: readKey(table, Get.Key) };
      });
      mustFitTransaction(asked);
      const read = asked.map(({ Get, table, key }) => ({ Get, table, item: store.get(table, key) }));
      return {
        Responses: read.map(({ Get, item }) => (item ? { Item: projected(item, Get) } : {})),
        ...consumed(
          request,
          read.map(({ table, item }) => [table, 2 * readUnits([item], true)]),
          "list",
        ),
      };
    },
    TransactWriteItems: (request) => {
      const { TransactItems, ClientRequestToken: token } = request;
      const hash = createHash("sha256").update(JSON.stringify(TransactItems)).digest("hex");
      const asked = TransactItems.map(({ Put, Update, Delete, ConditionCheck }) => {
        if (Put) return writes.putOf(Put);
        if (Update) return writes.updateOf(Update);
        if (Delete) return writes.deleteOf(Delete);
        if (ConditionCheck) return writes.checkOf(ConditionCheck);
        throw invalid("TransactItems can only contain one of Check, Put, Update or Delete");
      });
      mustFitTransaction(asked);
      return store.together(() => {
        const known = token === undefined ? undefined : store.transaction(token, now());
        if (known !== undefined && known !== hash)
          throw new AwsError(
            "IdempotentParameterMismatchException",
            400,
            "Request token was already used with different parameters",
          );
        if (known !== undefined) return {};
        const units = transact(asked);
        if (token !== undefined) store.putTransaction(token, hash, now());
        return consumed(request, units, "list");
      });
    },

    BatchExecuteStatement: (request) => {
      const { Statements } = request;
      if (Statements.length < 1 || Statements.length > MAX_STATEMENTS)
        throw invalid(
          `1 validation error detected: Value at 'statements' failed to satisfy constraint: Member must have length from 1 to ${MAX_STATEMENTS}`,
        );
      const asked = Statements.map((one) => trying(() => writes.statementOf(one)));
      const keys = asked.flatMap((one) => (one instanceof AwsError ? [] : [one]));
      if (hasTwice(keys)) throw invalid("Provided list of item keys contains duplicates");
      const units: [Table, number][] = [];
      const Responses = store.together(() =>
        asked.map((one) => {
          if (one instanceof AwsError) return statementError(one);
          const done = trying(() => write(one));
          const { before, after } =
            done instanceof AwsError ? { before: store.get(one.table, one.key) } : done;
          units.push([one.table, writeUnits(before, after)]);
          return { TableName: one.table.name, ...(done instanceof AwsError && statementError(done)) };
        }),
      );
      return { Responses, ...consumed(request, units, "list") };
    },
    ExecuteStatement: (request) => {
      const asked = writes.statementOf(request);
      const { before, after } = write(asked);
      return { Items: [], ...consumed(request, [[asked.table, writeUnits(before, after)]]) };
    },
  };

  function page(request: Requests["Query"] | Requests["Scan"]): object {
    const table = tableOf(request.TableName);
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

  function transact(asked: readonly Write[]): [Table, number][] {
    const befores = asked.map(({ table, key }) => store.get(table, key));
    if (asked.some(({ holds }, index) => !holds(befores[index])))
      throw cancelled(
        asked.map(({ holds, answersOld }, index) => {
          const Item = answersOld ? befores[index] : undefined;
          const failure = { Code: "ConditionalCheckFailed", Message: "The conditional request failed" };
          return holds(befores[index]) ? { Code: "None" } : { ...failure, ...(Item && { Item }) };
        }),
      );
    const afters = asked.map((one, index) => trying(() => one.after(befores[index])));
    if (afters.some((after) => after instanceof AwsError))
      throw cancelled(
        afters.map((after) =>
          after instanceof AwsError ? { Code: "ValidationError", Message: after.message } : { Code: "None" },
        ),
      );
    return asked.map((one) => {
      const { before, after } = write(one);
      return [one.table, 2 * writeUnits(before, after)];
    });
  }

  return Object.fromEntries(
    (Object.keys(answers) as (keyof Requests)[]).map((name) => [
      `DynamoDB_20120810.${name}`,
      { answer: ({ body }) => (answers[name] as (request: unknown) => object)(readRequest(name, body)) },
    ]),
  );
}

function projected(
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

function mustBe<T extends string>(asked: string | undefined, fallback: T, ...others: T[]): T {
  const found = [fallback, ...others].find((allowed) => allowed === (asked ?? fallback));
  if (found === undefined) throw invalid(`Return values set to invalid value: ${asked}`);
  return found;
}

function mustFitTransaction(asked: readonly Pick<Write, "table" | "key">[]): void {
  if (asked.length < 1 || asked.length > MAX_TRANSACTION)
    throw invalid(
      `1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length from 1 to ${MAX_TRANSACTION}`,
    );
  if (hasTwice(asked)) throw invalid("Transaction request cannot include multiple operations on one item");
}

function hasTwice(asked: readonly Pick<Write, "table" | "key">[]): boolean {
  const distinct = new Set(asked.map(({ table, key }) => JSON.stringify([table.id, key])));
  return distinct.size < asked.length;
}

function trying<T>(act: () => T): T | AwsError {
  try {
    return act();
  } catch (error) {
    if (error instanceof AwsError) return error;
    throw error;
  }
}

/** The codes of a batch statement's error have other names than exceptions ("BatchStatementError", API Reference). */
function statementError({ code, message, members }: AwsError): object {
  const Code = code.replace(/^(Conditional.*|DuplicateItem|ResourceNotFound)Exception$/, "$1");
  const error = {
    Code: Code === "ValidationException" ? "ValidationError" : Code,
    Message: message,
    ...members,
  };
  return { Error: error };
}

function cancelled(CancellationReasons: readonly { readonly Code: string }[]): AwsError {
  const codes = CancellationReasons.map(({ Code }) => Code).join(", ");
  return new AwsError(
    "TransactionCanceledException",
    400,
    `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
    { CancellationReasons },
  );
}
