import { type Path, type Placeholders, readPath, resolvePath, valueAt } from "./paths.ts";
import { invalid } from "./refusals.ts";
import { type Reader, readerOf } from "./syntax.ts";
import { compare, type Item, isSame, lengthOf, typeOf, type Value } from "./values.ts";

/** A path, a placeholder of a value, a literal or `size(path)`. */
export type Operand = {
  readonly of: (item: Item, placeholders: Placeholders) => Value | undefined;
  readonly path?: Path;
};

/** A parsed condition. Key conditions are found by `operator` and `operands`. */
export type Condition = {
  readonly holds: (item: Item, placeholders: Placeholders) => boolean;
  /** `AND`, `OR`, `NOT`, `=`, `BETWEEN`, `begins_with`, `IS MISSING` … */
  readonly operator: string;
  readonly terms?: readonly Condition[];
  readonly operands?: readonly Operand[];
};

const parsed = new Map<string, Condition>();

/** "Condition and filter expressions", DynamoDB Developer Guide. */
export function conditionOf(source: string, what = "Invalid ConditionExpression"): Condition {
  const known = parsed.get(source);
  if (known) return known;
  const reader = readerOf(source, what);
  const condition = readCondition(reader);
  reader.end();
  // Most programs use a few conditions. A program that writes values into its conditions has ever new ones, and must not fill the memory.
  if (parsed.size > 1000) parsed.clear();
  parsed.set(source, condition);
  return condition;
}

export function readCondition(reader: Reader): Condition {
  const terms = [readConjunction(reader)];
  while (reader.take("OR")) terms.push(readConjunction(reader));
  const [only] = terms;
  if (terms.length === 1 && only) return only;
  return {
    operator: "OR",
    holds: (item, placeholders) => terms.some(({ holds }) => holds(item, placeholders)),
  };
}

function readConjunction(reader: Reader): Condition {
  const terms = [readTerm(reader)];
  while (reader.take("AND")) terms.push(readTerm(reader));
  const [only] = terms;
  if (terms.length === 1 && only) return only;
  return {
    operator: "AND",
    terms: terms.flatMap((term) => term.terms ?? [term]),
    holds: (item, placeholders) => terms.every(({ holds }) => holds(item, placeholders)),
  };
}

function readTerm(reader: Reader): Condition {
  if (reader.take("NOT")) {
    const { holds } = readTerm(reader);
    return { operator: "NOT", holds: (item, placeholders) => !holds(item, placeholders) };
  }
  if (reader.take("(")) {
    const condition = readCondition(reader);
    reader.expect(")");
    return condition;
  }
  const name = reader.peek();
  const call = name?.kind === "name" && reader.peekSecond()?.text === "(" ? CALLS[name.text] : undefined;
  return name && call ? readCall(reader, name.text, call) : readComparison(reader);
}

type Call = (a: Value | undefined, b: Value | undefined) => boolean;

const CALLS: Readonly<Record<string, { readonly operands: 1 | 2; readonly holds: Call }>> = {
  attribute_exists: { operands: 1, holds: (value) => value !== undefined },
  attribute_not_exists: { operands: 1, holds: (value) => value === undefined },
  attribute_type: { operands: 2, holds: (value, type) => value !== undefined && typeOf(value) === type?.S },
  begins_with: { operands: 2, holds: beginsWith },
  contains: { operands: 2, holds: contains },
};

function readCall(reader: Reader, operator: string, { operands: count, holds }: (typeof CALLS)[string] & {}) {
  reader.takeKind("name");
  const operands = readList(reader);
  const [first, second] = operands;
  if (operands.length !== count || first === undefined) throw reader.fail();
  return {
    operator,
    operands,
    holds: (item: Item, placeholders: Placeholders) =>
      holds(first.of(item, placeholders), second?.of(item, placeholders)),
  };
}

function beginsWith(value: Value | undefined, start: Value | undefined): boolean {
  if (value?.S !== undefined && start?.S !== undefined) return value.S.startsWith(start.S);
  const [bytes, begin] = [value?.B, start?.B].map(
    (text) => text && Buffer.from(text, "base64").toString("hex"),
  );
  return bytes !== undefined && begin !== undefined && bytes.startsWith(begin);
}

function contains(value: Value | undefined, part: Value | undefined): boolean {
  if (value?.S !== undefined) return part?.S !== undefined && value.S.includes(part.S);
  if (value?.L) return value.L.some((entry) => isSame(entry, part));
  const text = part?.S ?? part?.N ?? part?.B;
  return text !== undefined && (value?.SS ?? value?.NS ?? value?.BS ?? []).includes(text);
}

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

function readComparison(reader: Reader): Condition {
  const left = readOperand(reader);
  if (reader.take("BETWEEN")) return readBetween(reader, left);
  if (reader.take("IN")) {
    const choices = readList(reader);
    return {
      operator: "IN",
      holds: (item, placeholders) =>
        choices.some((choice) => isSame(left.of(item, placeholders), choice.of(item, placeholders))),
    };
  }
  if (reader.take("IS")) {
    const isWanted = !reader.take("NOT");
    reader.expect("MISSING");
    return {
      operator: "IS MISSING",
      holds: (item, placeholders) => (left.of(item, placeholders) === undefined) === isWanted,
    };
  }
  return readOrder(reader, left);
}

function readBetween(reader: Reader, left: Operand): Condition {
  const low = readOperand(reader);
  reader.expect("AND");
  const high = readOperand(reader);
  return {
    operator: "BETWEEN",
    operands: [left, low, high],
    holds: (item, placeholders) => {
      const value = left.of(item, placeholders);
      const from = compare(value, low.of(item, placeholders));
      const to = compare(value, high.of(item, placeholders));
      return from !== undefined && to !== undefined && from >= 0 && to <= 0;
    },
  };
}

function readOrder(reader: Reader, left: Operand): Condition {
  const operator = reader.takeKind("symbol") ?? "";
  const order = ORDERS[operator];
  if (order === undefined && !["=", "<>"].includes(operator)) throw reader.fail();
  const right = readOperand(reader);
  return {
    operator,
    operands: [left, right],
    holds: (item, placeholders) => {
      const [a, b] = [left.of(item, placeholders), right.of(item, placeholders)];
      if (order === undefined) return isSame(a, b) === (operator === "=");
      const found = compare(a, b);
      return found !== undefined && order(found);
    },
  };
}

function readList(reader: Reader): Operand[] {
  const open = reader.take("[") ? "]" : ")";
  if (open === ")") reader.expect("(");
  const operands = [readOperand(reader)];
  while (reader.take(",")) operands.push(readOperand(reader));
  reader.expect(open);
  return operands;
}

export function readOperand(reader: Reader): Operand {
  const next = reader.peek();
  if (next?.kind === "placeholder" && !next.text.startsWith("#")) {
    const placeholder = reader.takeKind("placeholder") ?? "";
    return { of: (_, { values }) => parameterOf(placeholder, values) };
  }
  const text = reader.takeKind("text");
  if (text !== undefined) return { of: () => ({ S: text }) };
  const number = reader.takeKind("number");
  if (number !== undefined) return { of: () => ({ N: number }) };
  if (next?.text === "size" && reader.peekSecond()?.text === "(") {
    reader.takeKind("name");
    reader.expect("(");
    const inner = readOperand(reader);
    reader.expect(")");
    return {
      of: (item, placeholders) => {
        const value = inner.of(item, placeholders);
        const length = value && lengthOf(value);
        return length === undefined ? undefined : { N: String(length) };
      },
    };
  }
  const path = readPath(reader);
  return { path, of: (item, placeholders) => valueAt(item, resolvePath(path, placeholders)) };
}

function parameterOf(placeholder: string, values: Placeholders["values"]): Value {
  const value = values[placeholder];
  if (value === undefined)
    throw invalid(
      placeholder.startsWith("?")
        ? "Number of parameters in request and statement don't match."
        : `An expression attribute value used in expression is not defined; attribute value: ${placeholder}`,
    );
  return value;
}
