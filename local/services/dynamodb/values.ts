import { isDeepStrictEqual } from "node:util";
import { addNumbers, compareNumbers, normaliseNumber, sortableNumber } from "./numbers.ts";
import { invalid } from "./refusals.ts";

/** A value as DynamoDB's requests have it. `B` is base64. Exactly one member is set. */
export type Value = {
  readonly S?: string;
  readonly N?: string;
  readonly B?: string;
  readonly BOOL?: boolean;
  readonly NULL?: boolean;
  readonly SS?: readonly string[];
  readonly NS?: readonly string[];
  readonly BS?: readonly string[];
  readonly L?: readonly Value[];
  readonly M?: Item;
};

export type Item = { readonly [name: string]: Value };

const TYPES = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"] as const;
export type Type = (typeof TYPES)[number];
const SETS = ["SS", "NS", "BS"] as const;
/** "Constraints", DynamoDB Developer Guide. */
const MAX_DEPTH = 32;

export function typeOf(value: Value): Type {
  return Object.keys(value)[0] as Type;
}

/** Checks a value of a request, and writes its numbers as DynamoDB stores them. */
export function readValue(value: unknown, depth = 0): Value {
  const types = typeof value === "object" && value !== null ? Object.keys(value) : [];
  const [type] = types as Type[];
  if (types.length !== 1 || type === undefined || !TYPES.includes(type))
    throw invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
  if (depth > MAX_DEPTH)
    throw invalid("Nesting Levels have exceeded supported limits: attributes have nested too many levels");
  const { [type]: content } = value as Value;
  if (type === "N") return { N: readNumber(content) };
  if (type === "L") return { L: (content as Value[]).map((entry) => readValue(entry, depth + 1)) };
  if (type === "M") return { M: readItem(content, depth + 1) };
  const set = SETS.find((name) => name === type);
  if (set === undefined) return value as Value;
  const entries = (content as string[]).map((entry) => (set === "NS" ? readNumber(entry) : entry));
  if (entries.length === 0)
    throw invalid("One or more parameter values were invalid: An string set  may not be empty");
  if (new Set(entries).size < entries.length)
    throw invalid(
      `One or more parameter values were invalid: Input collection [${entries.join(", ")}] contains duplicates.`,
    );
  return { [set]: entries };
}

export function readItem(item: unknown, depth = 0): Item {
  return Object.fromEntries(
    Object.entries((item ?? {}) as Item).map(([name, value]) => [name, readValue(value, depth)]),
  );
}

function readNumber(text: unknown): string {
  try {
    return normaliseNumber(String(text));
  } catch {
    throw invalid(`The parameter cannot be converted to a numeric value: ${text}`);
  }
}

export function sumOf(a: string, b: string): string {
  try {
    return addNumbers(a, b);
  } catch {
    throw invalid("Number overflow. Attempting to store a number with magnitude larger than supported range");
  }
}

export function isSame(a: Value | undefined, b: Value | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  if (a.S !== undefined || b.S !== undefined) return a.S === b.S;
  if (a.N !== undefined && b.N !== undefined) return a.N === b.N || compareNumbers(a.N, b.N) === 0;
  const set = SETS.find((name) => a[name] !== undefined && b[name] !== undefined);
  if (set === undefined) return isDeepStrictEqual(a, b);
  return isDeepStrictEqual(new Set(a[set]), new Set(b[set]));
}

/** Negative if `a` is less than `b`. `undefined` if the two have no order, such as values of two types. */
export function compare(a: Value | undefined, b: Value | undefined): number | undefined {
  if (a === undefined || b === undefined || typeOf(a) !== typeOf(b)) return undefined;
  const [left, right] = [sortKey(a), sortKey(b)];
  if (left === undefined || right === undefined) return undefined;
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

/** Answers a text whose UTF-8 bytes sort as the values of this type do. `undefined` if the type has no order. */
export function sortKey({ S, N, B }: Value): string | undefined {
  if (S !== undefined) return S;
  if (N !== undefined) return sortableNumber(N);
  return B === undefined ? undefined : Buffer.from(B, "base64").toString("hex");
}

/** "Item sizes and formats", DynamoDB Developer Guide. */
export function sizeOfItem(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + sizeOf(value),
    0,
  );
}

function sizeOf({ S, N, B, SS, NS, BS, L, M }: Value): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return Math.ceil(N.replace(/[-.]/g, "").length / 2) + 1;
  if (B !== undefined) return Buffer.from(B, "base64").length;
  if (SS) return sum(SS.map((text) => sizeOf({ S: text })));
  if (NS) return sum(NS.map((text) => sizeOf({ N: text })));
  if (BS) return sum(BS.map((text) => sizeOf({ B: text })));
  if (L) return 3 + sum(L.map((entry) => 1 + sizeOf(entry)));
  if (M) return 3 + sizeOfItem(M) + Object.keys(M).length;
  return 1;
}

/** What the function `size` answers in an expression; `undefined` for a type without a size. */
export function lengthOf(value: Value): number | undefined {
  const { S, B, SS, NS, BS, L, M } = value;
  if (S !== undefined || B !== undefined) return sizeOf(value);
  return (SS ?? NS ?? BS ?? L)?.length ?? (M && Object.keys(M).length);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
