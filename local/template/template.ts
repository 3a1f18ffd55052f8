import { LocalError } from "../local-error.ts";

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };
export type Resource = { Type: string; Properties?: JsonObject; Condition?: string; Metadata?: Json };

type Output = {
  readonly Description?: string;
  readonly Value?: Json;
  readonly Export?: { readonly Name: Json };
};

export type Template = {
  readonly Parameters?: Readonly<Record<string, { Default?: Json }>>;
  readonly Conditions?: Readonly<Record<string, Json>>;
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, Output>>;
};

export type Scope = {
  readonly ref: (name: string) => Json | undefined;
  readonly attribute: (logicalId: string, attribute: string) => string;
  readonly imported: (name: string) => Json;
  readonly conditions: Readonly<Record<string, Json>>;
};

/** `AWS::NoValue`: CloudFormation leaves this property or element out. */
const NO_VALUE = Symbol("AWS::NoValue");
type Resolved = Json | typeof NO_VALUE;

/** Evaluates the intrinsic functions in a value of the template. Throws `LocalError` for an unknown function. */
export function resolve(value: Json, scope: Scope): Json {
  const resolved = resolveOrDrop(value, scope);
  return resolved === NO_VALUE ? null : resolved;
}

function resolveOrDrop(value: Json, scope: Scope): Resolved {
  if (Array.isArray(value)) return value.map((item) => resolveOrDrop(item, scope)).filter(isKept);
  if (typeof value !== "object" || value === null) return value;
  const [name, ...others] = Object.keys(value);
  if (name !== undefined && others.length === 0 && (name === "Ref" || name.startsWith("Fn::")))
    return callIntrinsic(name, value[name] ?? null, scope);
  const result: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    const resolved = resolveOrDrop(item, scope);
    if (isKept(resolved)) result[key] = resolved;
  }
  return result;
}

function isKept(value: Resolved): value is Json {
  return value !== NO_VALUE;
}

function callIntrinsic(name: string, argument: Json, scope: Scope): Resolved {
  switch (name) {
    case "Ref":
      return argument === "AWS::NoValue" ? NO_VALUE : reference(text(argument), scope);
    case "Fn::GetAtt": {
      const [id, ...attribute] = Array.isArray(argument) ? argument.map(text) : text(argument).split(".");
      return scope.attribute(id ?? "", attribute.join("."));
    }
    case "Fn::ImportValue":
      return scope.imported(text(resolve(argument, scope)));
    case "Fn::Join": {
      const [separator, items] = asList(argument);
      return asList(resolve(items ?? null, scope))
        .map(text)
        .join(text(separator));
    }
    case "Fn::Split": {
      const [separator, whole] = asList(argument);
      return text(resolve(whole ?? null, scope)).split(text(separator));
    }
    case "Fn::Select": {
      const [index, items] = asList(argument);
      return asList(resolve(items ?? null, scope))[Number(resolve(index ?? null, scope))] ?? null;
    }
    case "Fn::Sub":
      return substitute(argument, scope);
    case "Fn::If": {
      const [condition, yes, no] = asList(argument);
      return resolveOrDrop((holds(condition ?? null, scope) ? yes : no) ?? null, scope);
    }
    default:
      throw new LocalError(`the template uses ${name}, which the local stack does not support`);
  }
}

function reference(name: string, scope: Scope): Json {
  const value = scope.ref(name);
  if (value === undefined) throw new LocalError(`the template refers to ${name}, which it does not declare`);
  return value;
}

function substitute(argument: Json, scope: Scope): string {
  const [pattern, variables] = Array.isArray(argument) ? argument : [argument, {}];
  const own =
    typeof variables === "object" && variables !== null && !Array.isArray(variables) ? variables : {};
  return text(pattern).replace(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
    if (literal) return `\${${name}}`;
    const value = own[name];
    if (value !== undefined) return text(resolve(value, scope));
    const dot = name.indexOf(".");
    return dot < 0 ? text(reference(name, scope)) : scope.attribute(name.slice(0, dot), name.slice(dot + 1));
  });
}

/** Evaluates a condition, which is given by its name or as an expression. */
export function holds(condition: Json, scope: Scope): boolean {
  if (typeof condition === "string") {
    const declared = scope.conditions[condition];
    if (declared === undefined) throw new LocalError(`the template has no condition ${condition}`);
    return holds(declared, scope);
  }
  const [[name, argument] = ["nothing", null]] = Object.entries(condition ?? {});
  const operands = asList(argument);
  if (name === "Condition") return holds(argument, scope);
  if (name === "Fn::Not") return !holds(operands[0] ?? null, scope);
  if (name === "Fn::And") return operands.every((operand) => holds(operand, scope));
  if (name === "Fn::Or") return operands.some((operand) => holds(operand, scope));
  if (name === "Fn::Equals") {
    const [left, right] = operands.map((operand) => JSON.stringify(resolve(operand, scope)));
    return left === right;
  }
  throw new LocalError(`the template has a condition with ${name}, which the local stack does not support`);
}

export function asList(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

export function asObject(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function text(value: Json | undefined): string {
  return typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : JSON.stringify(value);
}
