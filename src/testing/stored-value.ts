/** Leaves undefined members out. Throws for a value that DynamoDB cannot store, as the marshaller of the SDK does. */
export function storedValue(value: unknown): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return storedNumber(value);
  if (Array.isArray(value)) return value.filter((member) => member !== undefined).map(storedValue);
  if (typeof value === "object") {
    const map: Record<string, unknown> = { ...value };
    for (const name of Object.keys(map)) {
      const member = map[name];
      // A shortcut for speed: most members are texts, and tests store very many items.
      if (typeof member === "string") continue;
      if (member === undefined) delete map[name];
      else map[name] = storedValue(member);
    }
    return map;
  }
  throw new Error(`an attribute must be text, number, boolean, list or map, not ${typeof value}`);
}

function storedNumber(value: number): number {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new Error(`a number must be finite and at most 2^53 - 1, not ${value}`);
  return value === 0 ? 0 : value;
}

/** Compares two texts by their UTF-8 bytes, as DynamoDB does. JavaScript itself compares UTF-16 units. */
export function byBytes(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const [one, other] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (one !== other) return Math.sign(rankOf(one) - rankOf(other));
  }
  return Math.sign(a.length - b.length);
}

/** The rank of a unit. Surrogates rank highest: the UTF-8 bytes of their characters come after the bytes of all other characters. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
