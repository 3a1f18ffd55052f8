/**
 * What DynamoDB makes of a value on its way in: a copy of its own, without undefined members. What it
 * could not hold is thrown, as the SDK's marshaller does.
 */
export function storedValue(value: unknown): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return storedNumber(value);
  if (Array.isArray(value)) return value.filter((member) => member !== undefined).map(storedValue);
  if (typeof value === "object") {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return Object.fromEntries(members.map(([name, member]) => [name, storedValue(member)]));
  }
  throw new Error(`an attribute must be text, number, boolean, list or map, not ${typeof value}`);
}

function storedNumber(value: number): number {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error(`a number must be finite and at most 2^53 - 1, not ${value}`);
  return value === 0 ? 0 : value;
}

/** DynamoDB sorts text by its UTF-8 bytes, JavaScript by UTF-16 units. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
