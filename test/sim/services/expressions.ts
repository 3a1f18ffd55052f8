import { isDeepStrictEqual } from "node:util";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

export type Row = Record<string, AttributeValue>;

/** A condition of a write. Only a part of DynamoDB's expressions and of PartiQL is understood here: all else is an error. */
export type Condition = (row: Row | undefined) => boolean;
/** `add`: amounts that are added to numbers. A missing number counts as 0. */
export type Update = { set: Row; remove: string[]; add: Row };

type Placeholders = {
  ExpressionAttributeNames?: Record<string, string> | undefined;
  ExpressionAttributeValues?: Row | undefined;
};

function isSame(a: AttributeValue | undefined, b: AttributeValue | undefined): boolean {
  if (a?.S !== undefined || b?.S !== undefined) return a?.S === b?.S;
  if (a?.N !== undefined || b?.N !== undefined) return a?.N === b?.N;
  return isDeepStrictEqual(a, b);
}

/** Parses a condition: groups joined by OR, of terms joined by AND: `attribute_exists(#a)`, `attribute_not_exists(#a)`, `#a = :v`. */
export function conditionOf(expression: string | undefined, placeholders: Placeholders): Condition {
  if (expression === undefined) return () => true;
  const { name, value } = lookup(placeholders);
  const termOf = (term: string): Condition => {
    const exists = /^attribute_(not_)?exists\((\S+)\)$/.exec(term);
    if (exists) {
      const attribute = name(exists[2] ?? "");
      const wanted = exists[1] === undefined;
      return (row) => (row?.[attribute] !== undefined) === wanted;
    }
    const [left = "", equals, right = "", ...rest] = term.split(" ");
    if (equals !== "=" || rest.length > 0) throw new Error(`no such condition here: ${term}`);
    const attribute = name(left);
    const wanted = value(right);
    return (row) => row?.[attribute] !== undefined && isSame(row[attribute], wanted);
  };
  const either = expression.split(" OR ").map((part) => part.split(" AND ").map(termOf));
  return (row) => either.some((terms) => terms.every((term) => term(row)));
}

/** Parses `SET #a = :v, … REMOVE #b, … ADD #c :w, …`, or only some of these three parts. */
export function updateOf(expression: string, placeholders: Placeholders): Update {
  const { name, value } = lookup(placeholders);
  const parts = /^(?:SET (.+?))?(?:(?:^| )REMOVE (.+?))?(?:(?:^| )ADD (.+))?$/.exec(expression);
  if (!parts || expression === "") throw new Error(`no such update here: ${expression}`);
  const [, sets, removes, adds] = parts;
  const set: Row = {};
  for (const clause of sets?.split(", ") ?? []) {
    const [left = "", equals, right = ""] = clause.split(" ");
    if (equals !== "=") throw new Error(`no such update here: ${clause}`);
    set[name(left)] = value(right);
  }
  const add: Row = {};
  for (const clause of adds?.split(", ") ?? []) {
    const [left = "", right = "", ...rest] = clause.split(" ");
    if (value(right).N === undefined || rest.length > 0) throw new Error(`no such update here: ${clause}`);
    add[name(left)] = value(right);
  }
  return { set, remove: removes?.split(", ").map(name) ?? [], add };
}

function lookup({ ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: Placeholders) {
  const found = <T>(values: Record<string, T>, placeholder: string): T => {
    const value = values[placeholder];
    if (value === undefined) throw new Error(`${placeholder} stands for nothing`);
    return value;
  };
  return {
    name: (name: string) => (name.startsWith("#") ? found(ExpressionAttributeNames, name) : name),
    value: (placeholder: string) => found(ExpressionAttributeValues, placeholder),
  };
}

export type Statement =
  | { kind: "insert"; names: string[] }
  | { kind: "update"; set: string[]; where: { name: string; missing: boolean }[] };

const parsed = new Map<string, Statement>();

/** Parses `INSERT INTO "t" VALUE {'a': ?, …}` or `UPDATE "t" SET "a" = ?, … WHERE "b" = ? AND "c" IS MISSING …`. */
export function statementOf(text: string): Statement {
  let statement = parsed.get(text);
  if (!statement) {
    statement = parse(text);
    parsed.set(text, statement);
  }
  return statement;
}

function parse(text: string): Statement {
  const insert = /^INSERT INTO "[^"]+" VALUE \{(.+)\}$/.exec(text);
  if (insert)
    return {
      kind: "insert",
      names: (insert[1] ?? "").split(", ").map((part) => within(part, /^'(\w+)': \?$/)),
    };
  const update = /^UPDATE "[^"]+" SET (.+) WHERE (.+)$/.exec(text);
  if (!update) throw new Error(`no such statement here: ${text}`);
  return {
    kind: "update",
    set: (update[1] ?? "").split(", ").map((part) => within(part, /^"(\w+)" = \?$/)),
    where: (update[2] ?? "").split(" AND ").map((part) => ({
      name: within(part, /^"(\w+)" (?:= \?|IS MISSING)$/),
      missing: part.endsWith(" IS MISSING"),
    })),
  };
}

function within(part: string, pattern: RegExp): string {
  const name = pattern.exec(part)?.[1];
  if (name === undefined) throw new Error(`no such clause here: ${part}`);
  return name;
}

export function updateStatementOf(
  { set, where }: Extract<Statement, { kind: "update" }>,
  parameters: readonly AttributeValue[],
): { key: Row; condition: Condition; set: Row } {
  let at = 0;
  const take = (): AttributeValue => {
    const value = parameters[at++];
    if (value === undefined) throw new Error("a statement has more ? than parameters");
    return value;
  };
  const values = Object.fromEntries(set.map((name) => [name, take()]));
  const key: Row = {};
  const terms: Condition[] = [];
  for (const { name, missing } of where) {
    if (missing) terms.push((row) => row?.[name] === undefined);
    else {
      const wanted = take();
      if (name === "pk" || name === "sk") key[name] = wanted;
      else terms.push((row) => row?.[name] !== undefined && isSame(row[name], wanted));
    }
  }
  return { key, condition: (row) => row !== undefined && terms.every((term) => term(row)), set: values };
}
