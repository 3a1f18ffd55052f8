import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { convertToAttr, marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import type { Item, Key } from "../core/items.ts";

const OPTIONS = { removeUndefinedValues: true };

export function toAttributes(item: Item): Record<string, AttributeValue> {
  return marshall(item, OPTIONS);
}

export function toAttribute(value: unknown): AttributeValue {
  return convertToAttr(value, OPTIONS);
}

export function toKey({ pk, sk }: Key): Record<string, AttributeValue> {
  return { pk: { S: pk }, sk: { S: sk } };
}

export function fromAttributes(attributes: Record<string, AttributeValue>): Item {
  return unmarshall(attributes) as Item;
}

/** For answers that hold an item only sometimes. */
export function itemIfAny(attributes: Record<string, AttributeValue> | undefined): Item | undefined {
  return attributes === undefined || Object.keys(attributes).length === 0
    ? undefined
    : fromAttributes(attributes);
}
