import { AwsError } from "../aws-error.ts";
import { checkItem, keyOf, readKey } from "./items.ts";
import type { Placeholders } from "./paths.ts";
import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { type Statement, statementOf } from "./statements.ts";
import { type Table, type TableStore, tableOf } from "./table-store.ts";
import { applyUpdate } from "./updates.ts";
import { type Item, readValue } from "./values.ts";
import { UPDATE_TOO_LARGE, type Write } from "./writes.ts";

type StatementRequest = Requests["BatchExecuteStatement"]["Statements"][number];
type Insert = Extract<Statement, { kind: "insert" }>;
type Change = Exclude<Statement, Insert>;

export function statementWrite(store: TableStore, request: StatementRequest): Write {
  const statement = statementOf(request.Statement);
  const table = tableOf(store, statement.table);
  const values = Object.fromEntries(
    (request.Parameters ?? []).map((value, index) => [`?${index}`, readValue(value)]),
  );
  const placeholders = { names: {}, values };
  const write =
    statement.kind === "insert"
      ? insertOf(table, statement, placeholders)
      : changeOf(table, statement, placeholders);
  return { ...write, table, answersOld: request.ReturnValuesOnConditionCheckFailure === "ALL_OLD" };
}

type OfItem = Pick<Write, "key" | "holds" | "after">;

function insertOf(table: Table, statement: Insert, placeholders: Placeholders): OfItem {
  const members = statement.item.map(([name, operand]) => [name, operand.of({}, placeholders) ?? {}]);
  const item = checkItem(table, Object.fromEntries(members));
  return {
    key: keyOf(table, item),
    holds: (before) => {
      if (before) throw new AwsError("DuplicateItemException", 400, "Duplicate primary key exists in table");
      return true;
    },
    after: () => item,
  };
}

function changeOf(table: Table, statement: Change, placeholders: Placeholders): OfItem {
  const key = keyIn(table, statement, placeholders);
  const update = statement.kind === "update" ? statement.update : undefined;
  return {
    key,
    holds: (before) => before !== undefined && statement.where.holds(before, placeholders),
    after: (before) =>
      update &&
      checkItem(
        table,
        applyUpdate(before ?? key, update, placeholders, Object.keys(key)).after,
        UPDATE_TOO_LARGE,
      ),
  };
}

/** The statement must name the key with `=`. */
function keyIn(table: Table, { where }: Change, placeholders: Placeholders): Item {
  const terms = where.terms ?? [where];
  const key = table.keySchema.map(({ AttributeName }) => {
    const term = terms.find(
      ({ operator, operands }) => operator === "=" && operands?.[0]?.path?.join(".") === AttributeName,
    );
    const value = term?.operands?.[1]?.of({}, placeholders);
    if (value === undefined)
      throw invalid("Where clause does not contain a mandatory equality on all key attributes");
    return [AttributeName, value];
  });
  return readKey(table, Object.fromEntries(key));
}
