import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { fromAttributes, itemIfAny, toAttribute, toAttributes, toKey } from "../../src/aws/attributes.ts";
import { changeExpression, checkExpression } from "../../src/aws/expressions.ts";
import { insertStatement, updateStatement } from "../../src/aws/statements.ts";
import type { Item } from "../../src/core/items.ts";
import type { Change, Expected } from "../../src/protocol/ports.ts";
import { anyText, homeDueAt, time } from "./kinds.ts";
import { property } from "./property.ts";

/** Values of the pool's items: no null, no sets, no binaries, and only numbers that the SDK's marshaller accepts. */
const value: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    anyText,
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, min: -1e15, max: 1e15 }).map((number) => (number === 0 ? 0 : number)),
    fc.boolean(),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constant("__proto__"), anyText), tie("value")), { maxLength: 4 })
      .map((members) => Object.fromEntries(members)),
  ),
})).value;

/** Names of attributes. They consist of letters only, as all names in the pool do. Some are DynamoDB's reserved words. */
const name = fc.oneof(
  fc.constantFrom("state", "token", "body", "v"),
  fc.stringMatching(/^[a-z][A-Za-z]{2,9}$/),
);
const attributes = fc.dictionary(name, fc.option(value, { nil: undefined }), {
  maxKeys: 6,
  noNullPrototype: true,
});
const key = { pk: fc.stringMatching(/^[ -~]{1,20}$/), sk: fc.stringMatching(/^[ -~]{1,20}$/) };
const item = fc.oneof(
  homeDueAt(time).map((home): Item => home),
  fc.tuple(fc.record(key), attributes).map(([place, rest]) => ({ ...rest, ...place }) as Item),
);
const present = (members: object): object =>
  Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined));

describe("an item", () => {
  // The SDK's marshaller loses attributes with the name `__proto__`.
  const ordinary = item.filter((given) => !JSON.stringify(given).includes("__proto__"));
  property("becomes what the SDK's marshaller makes of it", [ordinary], (given) => {
    expect(toAttributes(given)).toEqual(marshall(given, { removeUndefinedValues: true }));
  });

  property("comes back from what the SDK's marshaller makes of it", [item], (given) => {
    const stored = marshall(given, { removeUndefinedValues: true });
    expect(fromAttributes(stored)).toEqual(unmarshall(stored));
  });

  property("comes back as it was stored", [item], (given) => {
    expect(fromAttributes(toAttributes(given))).toEqual(present(given));
    expect(itemIfAny(toAttributes(given))).toEqual(present(given));
    expect(toKey(given)).toEqual({ pk: { S: given.pk }, sk: { S: given.sk } });
  });

  const strange = fc.oneof(
    fc.constantFrom(
      null,
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Symbol("s"),
    ),
    fc.bigInt(),
    fc.func(fc.nat()),
  );
  property("with a value that DynamoDB could not return is refused", [strange, fc.nat(3)], (given, depth) => {
    let held: unknown = given;
    for (let i = 0; i < depth; i++) held = [held];
    expect(() => toAttribute(held)).toThrow(TypeError);
  });
});

const scalar = fc.oneof(anyText, fc.maxSafeInteger());
const expected: fc.Arbitrary<Expected> = fc.dictionary(name, fc.option(scalar, { nil: undefined }), {
  maxKeys: 4,
});
const change: fc.Arbitrary<Change> = fc
  .record({
    key: fc.record(key),
    expect: expected,
    set: fc.dictionary(name, scalar, { minKeys: 1, maxKeys: 5 }),
    remove: fc.option(fc.uniqueArray(name, { maxLength: 3 }), { nil: undefined }),
  })
  .map(({ remove, ...rest }) => {
    const removed = remove?.filter((each) => !(each in rest.set));
    return { ...rest, ...(removed ? { remove: removed } : {}) };
  });

function spelled(
  text: string,
  { ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: ReturnType<typeof checkExpression>,
): string {
  const used = new Set<string>();
  const written = text.replace(/#\w+|:\w+/g, (placeholder) => {
    used.add(placeholder);
    const stands = placeholder.startsWith("#")
      ? ExpressionAttributeNames[placeholder]
      : ExpressionAttributeValues[placeholder];
    return JSON.stringify(stands);
  });
  const declared = [...Object.keys(ExpressionAttributeNames), ...Object.keys(ExpressionAttributeValues)];
  // DynamoDB refuses a placeholder that is not declared, and one that is not used.
  expect(new Set(declared)).toEqual(used);
  return written;
}

const quoted = (one: unknown): string => JSON.stringify(one);
const equality = ([attribute, wanted]: [string, unknown]): string =>
  `${quoted(attribute)} = ${quoted(toAttribute(wanted))}`;

function conditionOf(wanted: Expected): string {
  const terms = Object.entries(wanted).map(([attribute, one]) =>
    one === undefined ? `attribute_not_exists(${quoted(attribute)})` : equality([attribute, one]),
  );
  return ['"v" = {"N":"1"}', ...terms].join(" AND ");
}

describe("an update", () => {
  property("sets, removes and expects each attribute that its change names", [change], (wanted) => {
    const expression = changeExpression(wanted);
    const { UpdateExpression, ConditionExpression } = expression;
    const sets = `SET ${Object.entries(wanted.set).map(equality).join(", ")}`;
    const removes = wanted.remove?.length ? ` REMOVE ${wanted.remove.map(quoted).join(", ")}` : "";
    const whole = spelled(`${UpdateExpression} IF ${ConditionExpression}`, expression);
    expect(whole).toBe(`${sets}${removes} IF ${conditionOf(wanted.expect)}`);
  });

  property(
    "without any change has the same conditions",
    [fc.oneof(expected, fc.constant("absent" as const))],
    (wanted) => {
      const expression = checkExpression(wanted);
      const condition = wanted === "absent" ? 'attribute_not_exists("pk")' : conditionOf(wanted);
      expect(spelled(expression.ConditionExpression, expression)).toBe(condition);
    },
  );
});

/** A statement with its parameters in place of its question marks. Fails if a parameter is left over. */
function filled({
  Statement = "",
  Parameters = [],
}: {
  Statement?: string | undefined;
  Parameters?: AttributeValue[] | undefined;
}): string {
  const left = [...Parameters];
  const text = Statement.replace(/\?/g, () => quoted(left.shift()));
  expect(left).toEqual([]);
  return text;
}

describe("a statement", () => {
  property("of a change sets and expects what the change says, of that item alone", [change], (wanted) => {
    const sets = Object.entries(wanted.set).map(equality).join(", ");
    const terms = Object.entries(wanted.expect).map(([attribute, one]) =>
      one === undefined ? `${quoted(attribute)} IS MISSING` : equality([attribute, one]),
    );
    const own = [...Object.entries(wanted.key).sort(), ["v", 1] as [string, unknown]];
    const where = [...own.map(equality), ...terms].join(" AND ");
    expect(filled(updateStatement("pool", wanted))).toBe(`UPDATE "pool" SET ${sets} WHERE ${where}`);
  });

  property("of an insert names each attribute that is there", [item], (given) => {
    const members = Object.entries(toAttributes(given)).map(
      ([attribute, stored]) => `'${attribute}': ${quoted(stored)}`,
    );
    expect(filled(insertStatement("pool", given))).toBe(`INSERT INTO "pool" VALUE {${members.join(", ")}}`);
  });
});
