import type { Item, Key } from "../../src/core/items.ts";
import type { Attribute } from "../../src/protocol/ports.ts";

/** The suites write attributes of every kind, so they do not keep to the items of the pool. */
export function itemAt(key: Key, attributes: Record<string, Attribute | boolean> = {}): Item {
  return { v: 1, id: "job", ...attributes, ...key } as unknown as Item;
}

/** `first` to `first + count - 1`. */
export function numbers(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}
