import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Item, Key } from "../core/items.ts";

// The SDK's own marshaller takes three times as long, because it handles sets, binaries and numbers that a double cannot hold.

export function toAttributes(item: Item): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(item))
    if (value !== undefined) attributes[name] = toAttribute(value);
  return attributes;
}

export function toAttribute(value: unknown): AttributeValue {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number" && Number.isFinite(value)) return { N: String(value) };
  if (typeof value === "boolean") return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map(toAttribute) };
  if (typeof value === "object" && value !== null) return { M: mapOf(value) };
  throw new TypeError(
    `an attribute must be text, a finite number, a boolean, a list or a map, got ${String(value)}`,
  );
}

/** Callers choose the keys: an assignment to `__proto__` would lose the value. */
function mapOf(values: object): Record<string, AttributeValue> {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, toAttribute(value)]));
}

export function toKey({ pk, sk }: Key): Record<string, AttributeValue> {
  return { pk: { S: pk }, sk: { S: sk } };
}

/** Each item gets these attributes first: V8 gives each order of fields a hidden class, and many classes make reading several times as slow. */
const FIRST = "pk sk v id topic body state dueAt wantedAt revision attempt createdAt".split(" ");

export function fromAttributes(attributes: Record<string, AttributeValue>): Item {
  const item: Record<string, unknown> = {};
  for (const name of FIRST) {
    const value = attributes[name];
    if (value !== undefined) item[name] = fromAttribute(value);
  }
  for (const name in attributes)
    if (!(name in item)) item[name] = fromAttribute(attributes[name] as AttributeValue);
  return item as Item;
}

function fromAttribute(value: AttributeValue): unknown {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.L !== undefined) return value.L.map(fromAttribute);
  if (value.M !== undefined)
    return Object.fromEntries(Object.entries(value.M).map(([name, inner]) => [name, fromAttribute(inner)]));
  // A newer version or another program wrote this value. `readHome` refuses null.
  return null;
}

export function itemIfAny(attributes: Record<string, AttributeValue> | undefined): Item | undefined {
  return attributes === undefined || Object.keys(attributes).length === 0
    ? undefined
    : fromAttributes(attributes);
}
