import { type Operand, readOperand } from "./conditions.ts";
import { negateNumber } from "./numbers.ts";
import {
  type Path,
  type Placeholders,
  type Resolved,
  readPath,
  resolvePath,
  valueAt,
  withValueAt,
} from "./paths.ts";
import { invalid } from "./refusals.ts";
import { type Reader, readerOf } from "./syntax.ts";
import { type Item, sumOf, type Value } from "./values.ts";

/** One change of a path. `of` answers its new value; `undefined` removes it. All values are made from the item before the update. */
type Action = { readonly path: Path; readonly of: Operand["of"] };
export type Update = readonly Action[];

const parsed = new Map<string, Update>();

/** "Update expressions", DynamoDB Developer Guide. */
export function updateOf(source: string): Update {
  const known = parsed.get(source);
  if (known) return known;
  const reader = readerOf(source, "Invalid UpdateExpression");
  const seen = new Set<string>();
  const actions: Action[] = [];
  do {
    const keyword = reader.takeKind("name")?.toUpperCase() ?? "";
    const read = Object.hasOwn(SECTIONS, keyword) ? SECTIONS[keyword] : undefined;
    if (!read) throw reader.fail();
    if (seen.has(keyword))
      throw invalid(
        `Invalid UpdateExpression: The "${keyword}" section can only be used once in an update expression;`,
      );
    seen.add(keyword);
    do actions.push(read(reader));
    while (reader.take(","));
  } while (reader.peek());
  if (parsed.size > 1000) parsed.clear();
  parsed.set(source, actions);
  return actions;
}

const SECTIONS: Readonly<Record<string, (reader: Reader) => Action>> = {
  SET: readSet,
  REMOVE: readRemove,
  ADD: (reader) => readChange(reader, (before, given) => sumWith(before, given)),
  DELETE: (reader) => readChange(reader, (before, given) => before && without(before, given)),
};

export function readSet(reader: Reader): Action {
  const path = readPath(reader);
  reader.expect("=");
  const left = readTerm(reader);
  const sign = reader.take("+") ? 1 : reader.take("-") ? -1 : undefined;
  if (sign === undefined) return { path, of: left };
  const right = readTerm(reader);
  return {
    path,
    of: (item, placeholders) => {
      const [a, b] = [left(item, placeholders), right(item, placeholders)];
      if (a?.N === undefined || b?.N === undefined)
        throw invalid("An operand in the update expression has an incorrect data type");
      return { N: sumOf(a.N, sign === 1 ? b.N : negateNumber(b.N)) };
    },
  };
}

export function readRemove(reader: Reader): Action {
  return { path: readPath(reader), of: () => undefined };
}

/** Reads an operand, `if_not_exists(…)` or `list_append(…)`. Its value must exist. */
function readTerm(reader: Reader): (item: Item, placeholders: Placeholders) => Value {
  const call = reader.peekSecond()?.text === "(" ? reader.peek()?.text : undefined;
  if (call === "if_not_exists" || call === "list_append") {
    reader.takeKind("name");
    reader.expect("(");
    const first = call === "list_append" ? readTerm(reader) : readOperand(reader).of;
    reader.expect(",");
    const second = readTerm(reader);
    reader.expect(")");
    if (call === "if_not_exists")
      return (item, placeholders) => first(item, placeholders) ?? second(item, placeholders);
    return (item, placeholders) => {
      const lists = [first(item, placeholders)?.L, second(item, placeholders).L];
      if (lists.includes(undefined))
        throw invalid("An operand in the update expression has an incorrect data type");
      return { L: lists.flatMap((list) => list ?? []) };
    };
  }
  const operand = readOperand(reader);
  return (item, placeholders) => {
    const value = operand.of(item, placeholders);
    if (value === undefined)
      throw invalid("The provided expression refers to an attribute that does not exist in the item");
    return value;
  };
}

function readChange(
  reader: Reader,
  change: (before: Value | undefined, given: Value) => Value | undefined,
): Action {
  const path = readPath(reader);
  const given = readTerm(reader);
  return {
    path,
    of: (item, placeholders) =>
      change(valueAt(item, resolvePath(path, placeholders)), given(item, placeholders)),
  };
}

const SETS = ["SS", "NS", "BS"] as const;

function sumWith(before: Value | undefined, given: Value): Value {
  if (given.N !== undefined && (before === undefined || before.N !== undefined))
    return { N: sumOf(before?.N ?? "0", given.N) };
  const set = SETS.find((name) => given[name] !== undefined);
  if (set === undefined || (before !== undefined && before[set] === undefined))
    throw invalid("An operand in the update expression has an incorrect data type");
  return { [set]: [...new Set([...(before?.[set] ?? []), ...(given[set] ?? [])])] };
}

function without(before: Value, given: Value): Value | undefined {
  const set = SETS.find((name) => given[name] !== undefined);
  if (set === undefined || before[set] === undefined)
    throw invalid("An operand in the update expression has an incorrect data type");
  const rest = before[set].filter((entry) => !given[set]?.includes(entry));
  return rest.length === 0 ? undefined : { [set]: rest };
}

/** Applies an update. Throws if two of its paths overlap, or if it changes one of the `keys`. */
export function applyUpdate(
  before: Item,
  update: Update,
  placeholders: Placeholders,
  keys: readonly string[],
): { after: Item; paths: readonly Resolved[] } {
  const changes = update.map(({ path, of }) => ({
    path: resolvePath(path, placeholders),
    value: of(before, placeholders),
  }));
  const paths = changes.map(({ path }) => path);
  for (const [index, path] of paths.entries()) {
    const [name] = path;
    if (typeof name === "string" && keys.includes(name))
      throw invalid(
        `One or more parameter values were invalid: Cannot update attribute ${name}. This attribute is part of the key`,
      );
    if (paths.slice(index + 1).some((other) => overlaps(path, other)))
      throw invalid(
        "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths",
      );
  }
  // Removals come last, and those of later entries of a list come first, so that each index still names its entry.
  const ordered = [
    ...changes.filter(({ value }) => value !== undefined),
    ...changes.filter(({ value }) => value === undefined).sort((a, b) => indexOf(b.path) - indexOf(a.path)),
  ];
  const after = ordered.reduce((item, { path, value }) => withValueAt(item, path, value), before);
  return { after, paths };
}

function indexOf(path: Resolved): number {
  const last = path.at(-1);
  return typeof last === "number" ? last : -1;
}

function overlaps(one: Resolved, other: Resolved): boolean {
  return one.slice(0, other.length).every((step, index) => step === other[index]);
}
