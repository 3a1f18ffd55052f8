import { invalid } from "./refusals.ts";
import type { Table } from "./table-store.ts";
import { type Item, readItem, sizeOfItem, typeOf, type Value } from "./values.ts";

/** "Constraints", DynamoDB Developer Guide. */
const MAX_ITEM_BYTES = 400 * 1024;
const MAX_KEY_BYTES = { HASH: 2048, RANGE: 1024 };
const SIZE_NAMES = { HASH: "hashkey", RANGE: "rangekey" };

/** Checks an item's key and size, also the keys of its indexes. `tooLarge`: the text of the error for its size. */
export function checkItem(
  table: Table,
  item: Item,
  tooLarge = "Item size has exceeded the maximum allowed size",
): Item {
  for (const { AttributeName, KeyType } of table.keySchema)
    checkKeyValue(table, AttributeName, KeyType, item[AttributeName]);
  for (const { IndexName, KeySchema } of table.indexes)
    for (const { AttributeName } of KeySchema) {
      const value = item[AttributeName];
      if (value !== undefined && typeOf(value) !== keyType(table, AttributeName))
        throw invalid(
          `One or more parameter values were invalid: Type mismatch for Index Key ${AttributeName} Expected: ${keyType(table, AttributeName)} Actual: ${typeOf(value)} IndexName: ${IndexName}`,
        );
    }
  if (sizeOfItem(item) > MAX_ITEM_BYTES) throw invalid(tooLarge);
  return item;
}

function checkKeyValue(table: Table, name: string, kind: "HASH" | "RANGE", value: Value | undefined): void {
  if (value === undefined)
    throw invalid(`One or more parameter values were invalid: Missing the key ${name} in the item`);
  const type = keyType(table, name);
  if (typeOf(value) !== type)
    throw invalid(
      `One or more parameter values were invalid: Type mismatch for key ${name} expected: ${type} actual: ${typeOf(value)}`,
    );
  if (value.S === "" || value.B === "")
    throw invalid(
      `One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty ${value.S === "" ? "string" : "binary"} value. Key: ${name}`,
    );
  if (sizeOfItem({ "": value }) > MAX_KEY_BYTES[kind])
    throw invalid(
      `One or more parameter values were invalid: Size of ${SIZE_NAMES[kind]} has exceeded the maximum size limit of ${MAX_KEY_BYTES[kind]} bytes`,
    );
}

function keyType({ attributes }: Table, name: string): string | undefined {
  return attributes.find(({ AttributeName }) => AttributeName === name)?.AttributeType;
}

/** Reads the `Key` of a request. It must have the attributes of the table's key, and no others. */
export function readKey(table: Table, given: Item): Item {
  const key = readItem(given);
  const names = table.keySchema.map(({ AttributeName }) => AttributeName);
  const fits =
    Object.keys(key).length === names.length &&
    names.every((name) => key[name] !== undefined && typeOf(key[name]) === keyType(table, name));
  if (!fits) throw invalid("The provided key element does not match the schema");
  return keyOf(table, checkItem({ ...table, indexes: [] }, key));
}

/** Answers the key's attributes in the order of the schema. */
export function keyOf({ keySchema }: Pick<Table, "keySchema">, item: Item): Item {
  return Object.fromEntries(
    keySchema.flatMap(({ AttributeName }) => {
      const value = item[AttributeName];
      return value === undefined ? [] : [[AttributeName, value]];
    }),
  );
}

export function hasTwice(asked: readonly { readonly table: Table; readonly key: Item }[]): boolean {
  const distinct = new Set(asked.map(({ table, key }) => JSON.stringify([table.id, key])));
  return distinct.size < asked.length;
}
