import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { ITEM_VERSION } from "../core/items.ts";
import type { Change, Expected } from "../protocol/ports.ts";
import { toAttribute } from "./attributes.ts";

type Names = {
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, AttributeValue>;
};

/** Many of the pool's attributes are reserved words of DynamoDB. */
function placeholders() {
  const names: Record<string, string> = {};
  const values: Record<string, AttributeValue> = {};
  return {
    name(name: string): string {
      names[`#${name}`] = name;
      return `#${name}`;
    },
    value(value: unknown): string {
      const placeholder = `:v${Object.keys(values).length}`;
      values[placeholder] = toAttribute(value);
      return placeholder;
    },
    // DynamoDB refuses these parameters if they are empty.
    all: (): Names => ({
      ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
      ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
    }),
  };
}

type Placeholders = ReturnType<typeof placeholders>;

function conditionOn(expect: Expected, { name, value }: Placeholders): string {
  // Always `v`: without a condition, an update would create a missing item, or change one of a newer version.
  const terms = [`${name("v")} = ${value(ITEM_VERSION)}`];
  for (const [attribute, wanted] of Object.entries(expect)) {
    if (wanted === undefined) terms.push(`attribute_not_exists(${name(attribute)})`);
    else terms.push(`${name(attribute)} = ${value(wanted)}`);
  }
  return terms.join(" AND ");
}

export function changeExpression({ expect, set, remove = [] }: Change) {
  const used = placeholders();
  const sets = Object.entries(set).map(
    ([attribute, value]) => `${used.name(attribute)} = ${used.value(value)}`,
  );
  const update = [
    ...(sets.length > 0 ? [`SET ${sets.join(", ")}`] : []),
    ...(remove.length > 0 ? [`REMOVE ${remove.map(used.name).join(", ")}`] : []),
  ];
  const ConditionExpression = conditionOn(expect, used);
  return { UpdateExpression: update.join(" "), ConditionExpression, ...used.all() };
}

/** Refused for an item of a newer version, which may count differently. */
export function countExpression(amounts: Readonly<Record<string, number>>, expiresAt: number) {
  const used = placeholders();
  const ConditionExpression = `attribute_not_exists(${used.name("pk")}) OR ${conditionOn({}, used)}`;
  const sets = Object.entries({ v: ITEM_VERSION, expiresAt }).map(
    ([name, value]) => `${used.name(name)} = ${used.value(value)}`,
  );
  const adds = Object.entries(amounts).map(([name, amount]) => `${used.name(name)} ${used.value(amount)}`);
  const UpdateExpression = `SET ${sets.join(", ")} ADD ${adds.join(", ")}`;
  return { UpdateExpression, ConditionExpression, ...used.all() };
}

export function checkExpression(expect: Expected | "absent") {
  const used = placeholders();
  const ConditionExpression =
    expect === "absent" ? `attribute_not_exists(${used.name("pk")})` : conditionOn(expect, used);
  return { ConditionExpression, ...used.all() };
}
