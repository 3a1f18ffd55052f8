import { AwsError } from "../aws-error.ts";
import { conditionOf } from "./conditions.ts";
import { checkItem, keyOf, readKey } from "./items.ts";
import type { Placeholders } from "./paths.ts";
import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { type Statement, statementOf } from "./statements.ts";
import type { Table } from "./table-store.ts";
import { applyUpdate, updateOf } from "./updates.ts";
import { type Item, readItem, readValue } from "./values.ts";

/**
 * One write of an item. `holds` says whether its condition is met by the item before the write. `after` answers the item after
 * the write.
 */
export type Write = {
  readonly table: Table;
  readonly key: Item;
  readonly holds: (before: Item | undefined) => boolean;
  readonly after: (before: Item | undefined) => Item | undefined;
  readonly answersOld: boolean;
};

type Conditional = Pick<Requests["DeleteItem"], "TableName" | "ConditionExpression"> &
  Pick<Requests["DeleteItem"], "ReturnValuesOnConditionCheckFailure"> &
  ExpressionRequest;

const UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size";

/** Reads the writes of requests and statements. `tableOf` throws for a table that does not exist. */
export function writesOn(tableOf: (name: string) => Table) {
  function conditional(request: Conditional): Omit<Write, "key" | "after"> & { placeholders: Placeholders } {
    const table = tableOf(request.TableName);
    const placeholders = placeholdersOf(request);
    const condition =
      request.ConditionExpression === undefined ? undefined : conditionOf(request.ConditionExpression);
    return {
      table,
      placeholders,
      holds: (before) => condition?.holds(before ?? {}, placeholders) ?? true,
      answersOld: request.ReturnValuesOnConditionCheckFailure === "ALL_OLD",
    };
  }

  function putOf(request: Conditional & { readonly Item: Item }): Write {
    const { table, ...rest } = conditional(request);
    const item = checkItem(table, readItem(request.Item));
    return { ...rest, table, key: keyOf(table, item), after: () => item };
  }

  function deleteOf(request: Conditional & { readonly Key: Item }): Write {
    const { table, ...rest } = conditional(request);
    return { ...rest, table, key: readKey(table, request.Key), after: () => undefined };
  }

  function checkOf(request: Conditional & { readonly Key: Item }): Write {
    return { ...deleteOf(request), after: (before) => before };
  }

  function updateWriteOf(
    request: Conditional & { readonly Key: Item; readonly UpdateExpression?: string | undefined },
  ) {
    const { table, placeholders, ...rest } = conditional(request);
    const key = readKey(table, request.Key);
    const update = request.UpdateExpression === undefined ? [] : updateOf(request.UpdateExpression);
    const keys = Object.keys(key);
    return {
      ...rest,
      table,
      key,
      after: (before: Item | undefined) =>
        checkItem(table, applyUpdate(before ?? key, update, placeholders, keys).after, UPDATE_TOO_LARGE),
      paths: (before: Item | undefined) => applyUpdate(before ?? key, update, placeholders, keys).paths,
    };
  }

  function statementWriteOf(request: Requests["BatchExecuteStatement"]["Statements"][number]): Write {
    const statement = statementOf(request.Statement);
    const table = tableOf(statement.table);
    const values = Object.fromEntries(
      (request.Parameters ?? []).map((value, index) => [`?${index}`, readValue(value)]),
    );
    const placeholders = { names: {}, values };
    const answersOld = request.ReturnValuesOnConditionCheckFailure === "ALL_OLD";
    if (statement.kind === "insert") {
      const item = checkItem(
        table,
        Object.fromEntries(
          statement.item.map(([name, operand]) => [name, operand.of({}, placeholders) ?? {}]),
        ),
      );
      return {
        table,
        key: keyOf(table, item),
        holds: (before) => {
          if (before)
            throw new AwsError("DuplicateItemException", 400, "Duplicate primary key exists in table");
          return true;
        },
        after: () => item,
        answersOld,
      };
    }
    const key = keyIn(table, statement, placeholders);
    return {
      table,
      key,
      holds: (before) => before !== undefined && statement.where.holds(before, placeholders),
      after: (before) =>
        statement.kind === "delete"
          ? undefined
          : checkItem(
              table,
              applyUpdate(before ?? key, statement.update, placeholders, Object.keys(key)).after,
              UPDATE_TOO_LARGE,
            ),
      answersOld,
    };
  }

  return { putOf, deleteOf, checkOf, updateOf: updateWriteOf, statementOf: statementWriteOf };
}

/** Finds the key of a statement, which must name it with `=`. */
function keyIn(
  table: Table,
  { where }: Extract<Statement, { where: unknown }>,
  placeholders: Placeholders,
): Item {
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

export type ExpressionRequest = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: Item | undefined;
  readonly [member: string]: unknown;
};

/**
 * Reads the placeholders of a request. Throws if an expression has an undefined placeholder, or if a defined placeholder is used
 * in no expression.
 */
export function placeholdersOf(request: ExpressionRequest): Placeholders {
  const names = request.ExpressionAttributeNames ?? {};
  const values = readItem(request.ExpressionAttributeValues);
  const expressions = Object.entries(request).filter(([name]) => name.endsWith("Expression"));
  const used = new Set<string>();
  for (const [member, text] of expressions)
    for (const placeholder of String(text).match(/[#:]\w+/g) ?? []) {
      used.add(placeholder);
      if (Object.hasOwn(placeholder.startsWith("#") ? names : values, placeholder)) continue;
      throw invalid(
        placeholder.startsWith("#")
          ? `Invalid ${member}: An expression attribute name used in the document path is not defined; attribute name: ${placeholder}`
          : `Invalid ${member}: An expression attribute value used in expression is not defined; attribute value: ${placeholder}`,
      );
    }
  for (const [member, given] of Object.entries({ Names: names, Values: values })) {
    const unused = Object.keys(given).find((placeholder) => !used.has(placeholder));
    if (unused !== undefined)
      throw invalid(
        `Value provided in ExpressionAttribute${member} unused in expressions: keys: {${unused}}`,
      );
  }
  return { names, values };
}
