import { createHash } from "node:crypto";
import { AwsError } from "../aws-error.ts";
import { hasTwice, readKey } from "./items.ts";
import { projected } from "./read-operations.ts";
import { invalid, orRefusal } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { type Table, type TableStore, tableOf } from "./table-store.ts";
import { consumed, readUnits, writeUnits } from "./units.ts";
import { checkWrite, deleteWrite, makeWrite, putWrite, updateWrite, type Write } from "./writes.ts";

/** "Service, account, and table quotas", DynamoDB Developer Guide. */
const MAX_TRANSACTION = 100;

export function transactGetItems(store: TableStore, request: Requests["TransactGetItems"]): object {
  const asked = request.TransactItems.map(({ Get }) => {
    const table = tableOf(store, Get.TableName);
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
}

export function transactWriteItems(
  store: TableStore,
  request: Requests["TransactWriteItems"],
  now: number,
): object {
  const { TransactItems, ClientRequestToken: token } = request;
  const hash = createHash("sha256").update(JSON.stringify(TransactItems)).digest("hex");
  const asked = TransactItems.map(({ Put, Update, Delete, ConditionCheck }) => {
    if (Put) return putWrite(store, Put);
    if (Update) return updateWrite(store, Update);
    if (Delete) return deleteWrite(store, Delete);
    if (ConditionCheck) return checkWrite(store, ConditionCheck);
    throw invalid("TransactItems can only contain one of Check, Put, Update or Delete");
  });
  mustFitTransaction(asked);
  return store.together(() => {
    const known = token === undefined ? undefined : store.transaction(token, now);
    if (known !== undefined && known !== hash)
      throw new AwsError(
        "IdempotentParameterMismatchException",
        400,
        "Request token was already used with different parameters",
      );
    if (known !== undefined) return {};
    const units = makeAll(store, asked);
    if (token !== undefined) store.putTransaction(token, hash, now);
    return consumed(request, units, "list");
  });
}

function mustFitTransaction(asked: readonly Pick<Write, "table" | "key">[]): void {
  if (asked.length < 1 || asked.length > MAX_TRANSACTION)
    throw invalid(
      `1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length from 1 to ${MAX_TRANSACTION}`,
    );
  if (hasTwice(asked)) throw invalid("Transaction request cannot include multiple operations on one item");
}

/** Makes all writes, or none if one is refused. Answers the consumed units. */
function makeAll(store: TableStore, asked: readonly Write[]): [Table, number][] {
  const befores = asked.map(({ table, key }) => store.get(table, key));
  if (asked.some(({ holds }, index) => !holds(befores[index])))
    throw cancelled(
      asked.map(({ holds, answersOld }, index) => {
        const Item = answersOld ? befores[index] : undefined;
        const failure = { Code: "ConditionalCheckFailed", Message: "The conditional request failed" };
        return holds(befores[index]) ? { Code: "None" } : { ...failure, ...(Item && { Item }) };
      }),
    );
  const afters = asked.map((one, index) => orRefusal(() => one.after(befores[index])));
  if (afters.some((after) => after instanceof AwsError))
    throw cancelled(
      afters.map((after) =>
        after instanceof AwsError ? { Code: "ValidationError", Message: after.message } : { Code: "None" },
      ),
    );
  return asked.map((one) => {
    const { before, after } = makeWrite(store, one);
    return [one.table, 2 * writeUnits(before, after)];
  });
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
