import { AwsError } from "../aws-error.ts";
import { hasTwice } from "./items.ts";
import { projectItem } from "./paths.ts";
import { invalid, orRefusal } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { statementWrite } from "./statement-writes.ts";
import type { Table, TableStore } from "./table-store.ts";
import { consumed, writeUnits } from "./units.ts";
import { type Item, readItem } from "./values.ts";
import { deleteWrite, makeWrite, putWrite, updateWrite, type Write } from "./writes.ts";

/** "Service, account, and table quotas", DynamoDB Developer Guide. */
const MAX_STATEMENTS = 25;
const MAX_BATCH_WRITES = 25;

export function putItem(store: TableStore, request: Requests["PutItem"]): object {
  const asked = putWrite(store, request);
  const { before } = makeWrite(store, asked);
  return {
    ...oldAttributes(request, before),
    ...consumed(request, [[asked.table, writeUnits(before, readItem(request.Item))]]),
  };
}

export function deleteItem(store: TableStore, request: Requests["DeleteItem"]): object {
  const asked = deleteWrite(store, request);
  const { before } = makeWrite(store, asked);
  return {
    ...oldAttributes(request, before),
    ...consumed(request, [[asked.table, writeUnits(before)]]),
  };
}

function oldAttributes(
  { ReturnValues = "NONE" }: Pick<Requests["PutItem"], "ReturnValues">,
  before: Item | undefined,
): { Attributes?: Item } {
  if (ReturnValues !== "NONE" && ReturnValues !== "ALL_OLD")
    throw invalid(`Return values set to invalid value: ${ReturnValues}`);
  return ReturnValues === "ALL_OLD" && before ? { Attributes: before } : {};
}

export function updateItem(store: TableStore, request: Requests["UpdateItem"]): object {
  const asked = updateWrite(store, request);
  const { before, after } = makeWrite(store, asked);
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
}

export function batchWriteItem(store: TableStore, request: Requests["BatchWriteItem"]): object {
  const asked = Object.entries(request.RequestItems).flatMap(([TableName, requests]) =>
    requests.map(({ PutRequest, DeleteRequest }) =>
      PutRequest
        ? putWrite(store, { TableName, ...PutRequest })
        : deleteWrite(store, { TableName, Key: DeleteRequest?.Key ?? {} }),
    ),
  );
  if (asked.length < 1 || asked.length > MAX_BATCH_WRITES)
    throw invalid("Too many items requested for the BatchWriteItem call");
  if (hasTwice(asked)) throw invalid("Provided list of item keys contains duplicates");
  const units = store.together(() =>
    asked.map((one): [Table, number] => {
      const { before, after } = makeWrite(store, one);
      return [one.table, writeUnits(before, after)];
    }),
  );
  return { UnprocessedItems: {}, ...consumed(request, units, "list") };
}

export function executeStatement(store: TableStore, request: Requests["ExecuteStatement"]): object {
  const asked = statementWrite(store, request);
  const { before, after } = makeWrite(store, asked);
  return { Items: [], ...consumed(request, [[asked.table, writeUnits(before, after)]]) };
}

export function batchExecuteStatement(store: TableStore, request: Requests["BatchExecuteStatement"]): object {
  const { Statements } = request;
  if (Statements.length < 1 || Statements.length > MAX_STATEMENTS)
    throw invalid(
      `1 validation error detected: Value at 'statements' failed to satisfy constraint: Member must have length from 1 to ${MAX_STATEMENTS}`,
    );
  const asked = Statements.map((one) => orRefusal(() => statementWrite(store, one)));
  if (hasTwice(asked.flatMap((one) => (one instanceof AwsError ? [] : [one]))))
    throw invalid("Provided list of item keys contains duplicates");
  const made = store.together(() =>
    asked.map((one) =>
      one instanceof AwsError ? { answer: statementError(one), units: [] } : makeStatement(store, one),
    ),
  );
  return {
    Responses: made.map(({ answer }) => answer),
    ...consumed(
      request,
      made.flatMap(({ units }) => units),
      "list",
    ),
  };
}

function makeStatement(store: TableStore, asked: Write): { answer: object; units: [Table, number][] } {
  const { table, key } = asked;
  const made = orRefusal(() => makeWrite(store, asked));
  const { before, after } = made instanceof AwsError ? { before: store.get(table, key) } : made;
  return {
    answer: { TableName: table.name, ...(made instanceof AwsError && statementError(made)) },
    units: [[table, writeUnits(before, after)]],
  };
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
