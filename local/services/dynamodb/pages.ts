import { type Condition, conditionOf } from "./conditions.ts";
import { keyOf } from "./items.ts";
import { type Placeholders, projectItem, resolvePath } from "./paths.ts";
import { invalid } from "./refusals.ts";
import type { Requests } from "./requests.ts";
import type { Index, KeySchema, Range, Table, TableStore } from "./table-store.ts";
import { type Item, readItem, sizeOfItem, sortKey, type Value } from "./values.ts";

export type Page = {
  readonly items: readonly Item[];
  readonly scanned: readonly Item[];
  /** The key of the last scanned item, if more items may follow. */
  readonly last: Item | undefined;
};

/** "Query", DynamoDB API Reference: where a page ends. */
const MAX_PAGE_BYTES = 1024 * 1024;

export function readPage(
  store: TableStore,
  table: Table,
  request: Requests["Query"] | Requests["Scan"],
  placeholders: Placeholders,
): Page {
  const index = table.indexes.find(({ IndexName }) => IndexName === request.IndexName);
  if (request.IndexName !== undefined && !index)
    throw invalid(`The table does not have the specified index: ${request.IndexName}`);
  const keySchema = index?.KeySchema ?? table.keySchema;
  const start = request.ExclusiveStartKey && readItem(request.ExclusiveStartKey);
  const filter =
    request.FilterExpression === undefined
      ? undefined
      : conditionOf(request.FilterExpression, "Invalid FilterExpression");
  const wanted =
    "KeyConditionExpression" in request ? keyCondition(request, keySchema, placeholders) : undefined;
  const found = index
    ? indexed(store, table, index, wanted, start)
    : wanted
      ? store.partition(table, wanted.hash, behind(wanted.range, start, keySchema))
      : store.scan(table, start);

  const { scanned, last } = takePage(found, request.Limit);
  const seen = scanned.map((item) => (index ? projectedBy(index, table, item) : item));
  return {
    items: filter ? seen.filter((item) => filter.holds(item, placeholders)) : seen,
    scanned,
    last: last && { ...keyOf({ keySchema }, last), ...keyOf(table, last) },
  };
}

/** Takes the items of one page: up to `limit` items, and no item that would make the page too large, unless it is the first. */
function takePage(found: Iterable<Item>, limit: number | undefined): Pick<Page, "scanned" | "last"> {
  const scanned: Item[] = [];
  let bytes = 0;
  for (const item of found) {
    bytes += sizeOfItem(item);
    if (scanned.length > 0 && bytes > MAX_PAGE_BYTES) return { scanned, last: scanned.at(-1) };
    scanned.push(item);
    if (scanned.length === limit) return { scanned, last: item };
  }
  return { scanned, last: undefined };
}

type Wanted = { readonly hash: Value; readonly range: Range };

/** Reads `pk = :pk AND sk …`. The terms may come in any order. */
function keyCondition(
  { KeyConditionExpression, ScanIndexForward = true }: Requests["Query"],
  keySchema: KeySchema,
  placeholders: Placeholders,
): Wanted {
  const condition = conditionOf(KeyConditionExpression, "Invalid KeyConditionExpression");
  const terms = condition.terms ?? [condition];
  const [hash, range] = keySchema.map(({ AttributeName }) =>
    terms.find(({ operands }) => nameIn(operands?.[0]?.path, placeholders) === AttributeName),
  );
  const value = hash?.operator === "=" ? hash.operands?.[1]?.of({}, placeholders) : undefined;
  if (value === undefined)
    throw invalid(`Query condition missed key schema element: ${keySchema[0]?.AttributeName}`);
  if (terms.some((term) => term !== hash && term !== range))
    throw invalid("Query key condition not supported");
  return { hash: value, range: { ...boundsOf(range, placeholders), backwards: !ScanIndexForward } };
}

function nameIn(path: Parameters<typeof resolvePath>[0] | undefined, placeholders: Placeholders) {
  const [name, ...rest] = path ? resolvePath(path, placeholders) : [];
  return rest.length === 0 ? name : undefined;
}

function boundsOf(term: Condition | undefined, placeholders: Placeholders): Pick<Range, "from" | "to"> {
  if (!term) return {};
  const [, first = "", second = ""] = (term.operands ?? []).map(
    (operand, at) => (at === 0 ? "" : sortKey(operand.of({}, placeholders) ?? {})) ?? "",
  );
  const including = { key: first, including: true };
  const excluding = { key: first, including: false };
  switch (term.operator) {
    case "=":
      return { from: including, to: including };
    case "<":
      return { to: excluding };
    case "<=":
      return { to: including };
    case ">":
      return { from: excluding };
    case ">=":
      return { from: including };
    case "BETWEEN":
      return { from: including, to: { key: second, including: true } };
    case "begins_with":
      return { from: including, to: { key: `${first}\u{10ffff}`, including: true } };
    default:
      throw invalid(`Invalid operator used in KeyConditionExpression: ${term.operator}`);
  }
}

/** Limits a range to the keys that come after the last key of the page before, in the direction of the read. The range never grows. */
function behind(range: Range, start: Item | undefined, keySchema: KeySchema): Range {
  if (!start) return range;
  const key = sortKey(start[keySchema[1]?.AttributeName ?? ""] ?? {}) ?? "";
  const { [range.backwards ? "to" : "from"]: bound } = range;
  const order = bound ? Buffer.compare(Buffer.from(key), Buffer.from(bound.key)) : 0;
  if (range.backwards ? order > 0 : order < 0) return range;
  return { ...range, [range.backwards ? "to" : "from"]: { key, including: false } };
}

function* indexed(
  store: TableStore,
  table: Table,
  { KeySchema }: Index,
  wanted: Wanted | undefined,
  start: Item | undefined,
): Iterable<Item> {
  const names = [...KeySchema, ...table.keySchema].map(({ AttributeName }) => AttributeName);
  const place = (item: Item) => names.map((name) => sortKey(item[name] ?? {}) ?? "");
  const direction = wanted?.range.backwards ? -1 : 1;
  const order = (a: readonly string[], b: readonly string[]) => {
    const at = a.findIndex((text, index) => text !== b[index]);
    return at < 0 ? 0 : direction * Buffer.compare(Buffer.from(a[at] ?? ""), Buffer.from(b[at] ?? ""));
  };
  const items = [...store.scan(table, undefined)]
    .filter((item) => KeySchema.every(({ AttributeName }) => item[AttributeName] !== undefined))
    .map((item) => ({ item, at: place(item) }))
    .filter(({ at: [hash = "", range = ""] }) => !wanted || isWithin(wanted, hash, range))
    .sort((a, b) => order(a.at, b.at));
  const from = start && place(start);
  for (const { item, at } of items) if (!from || order(at, from) > 0) yield item;
}

function isWithin({ hash, range: { from, to } }: Wanted, hashKey: string, rangeKey: string): boolean {
  if (hashKey !== sortKey(hash)) return false;
  const key = Buffer.from(rangeKey);
  const low = from ? Buffer.compare(key, Buffer.from(from.key)) : 1;
  const high = to ? Buffer.compare(key, Buffer.from(to.key)) : -1;
  return (
    (low > 0 || (low === 0 && from?.including === true)) &&
    (high < 0 || (high === 0 && to?.including === true))
  );
}

function projectedBy({ KeySchema, Projection }: Index, table: Table, item: Item): Item {
  const { ProjectionType = "ALL", NonKeyAttributes = [] } = Projection ?? {};
  if (ProjectionType === "ALL") return item;
  const keys = [...KeySchema, ...table.keySchema].map(({ AttributeName }) => AttributeName);
  return projectItem(
    item,
    [...keys, ...NonKeyAttributes].map((name) => [name]),
  );
}
