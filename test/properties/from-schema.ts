import fc from "fast-check";
import { anyText, json } from "./kinds.ts";

/** The keywords of JSON Schema that the requests in our OpenAPI document use. */
export type Schema = {
  $ref?: string;
  type?: "string" | "number" | "integer" | "boolean" | "array" | "object";
  enum?: string[];
  anyOf?: Schema[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  items?: Schema;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | false;
  propertyNames?: Schema;
  minProperties?: number;
  /** Alternatives that differ in the value of one member, which the discriminator names. */
  oneOf?: Schema[];
  discriminator?: { propertyName: string };
  default?: unknown;
  description?: string;
};

type Resolve = (ref: string) => Schema;
type Members = Record<string, unknown>;

const KNOWN = new Set<string>(
  (
    "$ref type enum anyOf pattern format minLength maxLength minimum maximum exclusiveMinimum items maxItems properties " +
    "required additionalProperties propertyNames minProperties oneOf discriminator default description"
  ).split(" "),
);

/** The formats, and the pattern of each that limits text. A number of a format is as free as one without. */
const FORMATS: Record<string, string> = {
  "date-time":
    "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)$",
  double: "",
  int64: "",
};

/** Throws for a keyword or a format that is not supported here, because no test would try its rule. */
function assertKnown(schema: Schema): void {
  const strange = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword));
  if (strange.length > 0) throw new Error(`values cannot be drawn by ${strange.join(", ")} yet`);
  if (schema.format !== undefined && FORMATS[schema.format] === undefined)
    throw new Error(`values cannot be drawn of format ${schema.format} yet`);
}

const wellFormed = anyText.map((text) => text.toWellFormed());

/** Values that callers might send. If times and durations were drawn only by their patterns, most would be out of bounds. */
const LIKELY = [
  ...["0", "90s", "1h30m", "7d", "2026-03-01T09:30:00.000Z", "2100-02-28T23:59:59+05:30", "a", "order-17"],
  ...["__proto__", "constructor", ".", "..", "\u0000", "a b", "a.b"],
];

function matching(pattern: string): fc.Arbitrary<string> {
  const whole = new RegExp(pattern, "u");
  // fast-check supports neither look-aheads nor classes of Unicode in patterns.
  const drawn = /\\P\{/i.test(pattern)
    ? wellFormed
    : fc.stringMatching(new RegExp(pattern.replace(/\(\?![^)]*\)/g, "")));
  const likely = LIKELY.filter((text) => whole.test(text));
  return fc.oneof(...likely.map((text) => fc.constant(text)), {
    weight: 2,
    arbitrary: drawn.filter((text) => whole.test(text)),
  });
}

function notMatching(pattern: string): fc.Arbitrary<string> {
  const whole = new RegExp(pattern, "u");
  const close = fc
    .tuple(matching(pattern), fc.nat(300), fc.constantFrom(..."aZ9_-. !#é\n\u0000".split(""), ""))
    .map(([text, anywhere, part]) => {
      const at = anywhere % (text.length + 1);
      return text.slice(0, at) + part + text.slice(at + 1);
    });
  return fc
    .oneof(close, wellFormed, fc.constantFrom("__proto__", ".", ".."))
    .filter((text) => !whole.test(text));
}

const lengthOf = (text: string): number => [...text].length;

export function allowedBy(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  assertKnown(schema);
  const each = (one: Schema): fc.Arbitrary<unknown> => allowedBy(one, resolve);
  if (schema.$ref !== undefined) return each(resolve(schema.$ref));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(each));
  if (schema.oneOf) return fc.oneof(...schema.oneOf.map(each));
  switch (schema.type) {
    case "string":
      return allowedTexts(schema);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer(rangeOf(schema));
    case "number":
      return allowedNumbers(schema);
    case "array":
      return fc.array(each(schema.items ?? {}), { maxLength: 3 });
    case undefined:
      return json;
    case "object":
      return allowedObjects(schema, each);
    default:
      throw new Error(`values cannot be drawn of type ${schema.type} yet`);
  }
}

function allowedTexts(schema: Schema): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 300 } = schema;
  const pattern = schema.pattern ?? (schema.format && FORMATS[schema.format]);
  return (pattern === undefined ? wellFormed : matching(pattern)).filter(
    (text) =>
      lengthOf(text) >= minLength &&
      lengthOf(text) <= maxLength &&
      (schema.format !== "date-time" || isOnCalendar(text)),
  );
}

/** Whether a time's day exists: 30 February does not. */
function isOnCalendar(time: string): boolean {
  const day = new Date(`${time.slice(0, 10)}T00:00:00Z`);
  return day.getUTCDate() === Number(time.slice(8, 10));
}

function rangeOf({ minimum, maximum }: Schema): { min?: number; max?: number } {
  return { ...(minimum !== undefined && { min: minimum }), ...(maximum !== undefined && { max: maximum }) };
}

function allowedNumbers(schema: Schema): fc.Arbitrary<number> {
  const { minimum, exclusiveMinimum: above, maximum } = schema;
  return fc.oneof(
    fc.double({
      ...rangeOf(schema),
      ...(above !== undefined && { min: above, minExcluded: true }),
      noNaN: true,
      noDefaultInfinity: true,
    }),
    fc.integer({
      min: Math.ceil(minimum ?? (above === undefined ? -1e9 : above + 1)),
      max: Math.floor(maximum ?? 1e9),
    }),
  );
}

function allowedObjects(schema: Schema, each: (one: Schema) => fc.Arbitrary<unknown>): fc.Arbitrary<Members> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const named = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, each(one)]));
  const others = additionalProperties
    ? fc.dictionary(
        each(schema.propertyNames ?? { type: "string" }) as fc.Arbitrary<string>,
        each(additionalProperties),
        { maxKeys: 3, noNullPrototype: true },
      )
    : fc.constant({});
  const requiredOnly = Object.fromEntries(required.map((name) => [name, named[name] ?? json]));
  const whole = fc.record(named, { requiredKeys: required, noNullPrototype: true });
  const own = fc.oneof({ weight: 9, arbitrary: whole }, { weight: 1, arbitrary: fc.record(requiredOnly) });
  return fc
    .tuple(own, others)
    .map(([own, other]): Members => ({ ...other, ...own }))
    .filter((value) => Object.keys(value).length >= (schema.minProperties ?? 0));
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

/** Values that break one rule of `schema`, which may be any of its rules; `undefined` if it has no rules. */
export function forbiddenBy(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> | undefined {
  const breaks = breaksOf(schema, resolve);
  return breaks.length === 0 ? undefined : fc.oneof(...breaks);
}

function breaksOf(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown>[] {
  assertKnown(schema);
  if (schema.$ref !== undefined) return breaksOf(resolve(schema.$ref), resolve);
  const followed = (one: Schema): Schema => (one.$ref === undefined ? one : resolve(one.$ref));
  if (schema.oneOf) {
    const noObject = json.filter((value) => typeOf(value) !== "object");
    // A broken value of one alternative is very unlikely to be a value of another.
    return [noObject, ...schema.oneOf.flatMap((one) => breaksWithinType(followed(one), resolve))];
  }
  const alternatives = (schema.anyOf ?? [schema]).map(followed);
  const types = alternatives.map(({ type }) => (type === "integer" ? "number" : type));
  if (types.includes(undefined)) return [];
  if (new Set(types).size < types.length)
    throw new Error("alternatives of one type cannot be broken apart yet");
  const otherType = json.filter((value) => !types.includes(typeOf(value) as "string"));
  // Each alternative has a type of its own, so a value of this type that breaks it breaks all of them.
  return [otherType, ...alternatives.flatMap((one) => breaksWithinType(one, resolve))];
}

function breaksWithinType(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown>[] {
  const { pattern, minLength, maxLength, minimum, exclusiveMinimum, maximum, items, maxItems } = schema;
  const by = fc.oneof(
    fc.constant(1),
    schema.type === "integer"
      ? fc.integer({ min: 1, max: 2 ** 31 })
      : fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
  );
  const breaks: fc.Arbitrary<unknown>[] = [];
  if (schema.enum) breaks.push(wellFormed.filter((text) => !schema.enum?.includes(text)));
  if (pattern !== undefined) breaks.push(notMatching(pattern));
  // The API may take further ways to write a time, so only text without a date breaks this format.
  if (schema.format === "date-time") breaks.push(wellFormed.filter((text) => !/\d{4}-?\d\d/.test(text)));
  if (minLength !== undefined) breaks.push(fc.string({ maxLength: minLength - 1 }));
  if (maxLength !== undefined)
    breaks.push(fc.string({ unit: "grapheme-ascii", minLength: maxLength + 1, maxLength: maxLength + 9 }));
  if (schema.type === "integer")
    breaks.push(
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
    );
  if (minimum !== undefined) breaks.push(by.map((less) => minimum - less));
  if (exclusiveMinimum !== undefined)
    breaks.push(fc.oneof(fc.constant(0), by).map((less) => exclusiveMinimum - less));
  if (maximum !== undefined) breaks.push(by.map((more) => maximum + more));
  if (items) {
    const good = allowedBy(items, resolve);
    const bad = forbiddenBy(items, resolve);
    if (bad) breaks.push(fc.tuple(good, bad, good));
    if (maxItems !== undefined)
      breaks.push(good.map((item) => Array.from({ length: maxItems + 1 }, () => item)));
  }
  if (schema.type === "object") breaks.push(...breaksOfObject(schema, resolve));
  return breaks;
}

function breaksOfObject(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown>[] {
  const good = membersOf(schema, resolve);
  return [
    ...(schema.required ?? []).map((name) => good.map((value) => without(name, value))),
    ...breaksOfMembers(schema, resolve),
    ...breaksOfOthers(schema, resolve),
    ...(schema.minProperties === 1 ? [fc.constant({})] : []),
  ];
}

function without(name: string, value: Members): Members {
  return Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
}

function membersOf(schema: Schema, resolve: Resolve): fc.Arbitrary<Members> {
  return allowedBy(schema, resolve) as fc.Arbitrary<Members>;
}

function breaksOfMembers(schema: Schema, resolve: Resolve): fc.Arbitrary<Members>[] {
  const good = membersOf(schema, resolve);
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const bad = forbiddenBy(one, resolve);
    return bad ? [fc.tuple(good, bad).map(([value, member]) => ({ ...value, [name]: member }))] : [];
  });
}

/** Objects with a further member that is not allowed, or whose name is not. */
function breaksOfOthers(schema: Schema, resolve: Resolve): fc.Arbitrary<Members>[] {
  const { properties = {}, additionalProperties, propertyNames } = schema;
  const good = membersOf(schema, resolve);
  const withMember = (name: fc.Arbitrary<string>, member: fc.Arbitrary<unknown>): fc.Arbitrary<Members> =>
    // `fromEntries` makes `__proto__` an own member, as `JSON.parse` does.
    fc
      .tuple(good, name, member)
      .map(([value, at, one]) => Object.fromEntries([...Object.entries(value), [at, one]]));
  const others = fc
    .oneof(wellFormed, fc.constantFrom("__proto__", "constructor", "Body", "delay ", ""))
    .filter((name) => !Object.hasOwn(properties, name));
  if (additionalProperties === false) return [withMember(others, json)];
  if (!additionalProperties) return [];
  const names = propertyNames ? (allowedBy(propertyNames, resolve) as fc.Arbitrary<string>) : wellFormed;
  const bad = forbiddenBy(additionalProperties, resolve);
  const badNames = propertyNames?.pattern && notMatching(propertyNames.pattern);
  return [
    ...(bad ? [withMember(names, bad)] : []),
    ...(badNames ? [withMember(badNames, allowedBy(additionalProperties, resolve))] : []),
  ];
}
