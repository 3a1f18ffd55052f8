import { conditionOf } from "./conditions.ts";
import { checkItem, keyOf, readKey } from "./items.ts";
import type { Placeholders } from "./paths.ts";
import { conditionFailed, invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import { type Table, type TableStore, tableOf } from "./table-store.ts";
import { applyUpdate, updateOf } from "./updates.ts";
import { type Item, readItem } from "./values.ts";

/** `holds`: whether the condition is met by the item before the write. `after`: the item after the write. */
export type Write = {
  readonly table: Table;
  readonly key: Item;
  readonly holds: (before: Item | undefined) => boolean;
  readonly after: (before: Item | undefined) => Item | undefined;
  readonly answersOld: boolean;
};

/** Throws if its condition is not met. */
export function makeWrite(
  store: TableStore,
  { table, key, holds, after, answersOld }: Write,
): { before?: Item; after?: Item } {
  const before = store.get(table, key);
  if (!holds(before)) throw conditionFailed(answersOld ? before : undefined);
  const item = after(before);
  if (item) store.put(table, item);
  else if (before) store.remove(table, key);
  return { ...(before && { before }), ...(item && { after: item }) };
}

type Conditional = Pick<Requests["DeleteItem"], "TableName" | "ConditionExpression"> &
  Pick<Requests["DeleteItem"], "ReturnValuesOnConditionCheckFailure"> &
  ExpressionRequest;

export const UPDATE_TOO_LARGE = "Item size to update has exceeded the maximum allowed size";

type WithKey = Conditional & { readonly Key: Item };

export function putWrite(store: TableStore, request: Conditional & { readonly Item: Item }): Write {
  const { table, ...rest } = conditional(store, request);
  const item = checkItem(table, readItem(request.Item));
  return { ...rest, table, key: keyOf(table, item), after: () => item };
}

export function deleteWrite(store: TableStore, request: WithKey): Write {
  const { table, ...rest } = conditional(store, request);
  return { ...rest, table, key: readKey(table, request.Key), after: () => undefined };
}

export function checkWrite(store: TableStore, request: WithKey): Write {
  return { ...deleteWrite(store, request), after: (before) => before };
}

export function updateWrite(
  store: TableStore,
  request: WithKey & { readonly UpdateExpression?: string | undefined },
): Write & { readonly paths: (before: Item | undefined) => ReturnType<typeof applyUpdate>["paths"] } {
  const { table, placeholders, ...rest } = conditional(store, request);
  const key = readKey(table, request.Key);
  const update = request.UpdateExpression === undefined ? [] : updateOf(request.UpdateExpression);
  const updated = (before: Item | undefined) =>
    applyUpdate(before ?? key, update, placeholders, Object.keys(key));
  return {
    ...rest,
    table,
    key,
    after: (before) => checkItem(table, updated(before).after, UPDATE_TOO_LARGE),
    paths: (before) => updated(before).paths,
  };
}

function conditional(
  store: TableStore,
  request: Conditional,
): Omit<Write, "key" | "after"> & { placeholders: Placeholders } {
  const table = tableOf(store, request.TableName);
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

export type ExpressionRequest = {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: Item | undefined;
  readonly [member: string]: unknown;
};

/** Throws if an expression has an undefined placeholder, or if a defined placeholder is used in no expression. */
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
