import type {
  BinaryExpression,
  ConditionalExpression,
  IfStatement,
  LogicalExpression,
  Node,
} from "oxc-parser";
import { type Marked, nodesOf } from "./marked.ts";

export type Edit = { readonly start: number; readonly end: number; readonly text: string };
/** Says how a marked node is damaged. `marked` finds the node of another marker. Throws where the node is not of the right kind. */
export type Change = (at: Marked, marked: (rule: string) => Marked) => Edit[];

// In each `code`, `$&` stands for the code that is there.

export const remove: Change = ({ source, node }) => [removal(source, node)];

/** Removes items of a list in the node: properties and elements by name, or the one at an index of its first list. */
export function without(...items: readonly (string | number)[]): Change {
  return ({ source, node }) => {
    const lists = [...nodesOf(node)].map(listOf).filter((list) => list !== undefined);
    return items.map((item) => {
      const found =
        typeof item === "number" ? lists[0]?.at(item) : lists.flat().find((one) => nameOf(one) === item);
      return removal(source, found ?? missing(`list with item ${item}`));
    });
  };
}

/** Makes the node's first condition, of an `if` or of a `? :`, always true or always false. */
export function condition(holds: boolean): Change {
  return ({ node }) => {
    const found = [...nodesOf(node)].find(isConditional) ?? missing("condition");
    return [over(found.test, String(holds))];
  };
}

export function value(code: string): Change {
  return ({ source, node }) => {
    const edit = instead(source, valueNodeOf(node) ?? missing("value"), code);
    const isShorthand = node.type === "Property" && node.shorthand;
    return [isShorthand ? { ...edit, text: `${textOf(source, node)}: ${edit.text}` } : edit];
  };
}

export function consequence(code: string): Change {
  return ({ source, node }) => [
    instead(source, node.type === "IfStatement" ? node.consequent : missing("if"), code),
  ];
}

/** Changes one operand of the node's first expression with this operator. */
export function operand(operator: string, index: number, code: string): Change {
  return ({ source, node }) => {
    const operands = operandsOf(node, operator);
    return [instead(source, operands[index] ?? missing(`operand ${index} of ${operator}`), code)];
  };
}

export function withoutOperand(operator: string, index: number): Change {
  return ({ node }) => {
    const operands = operandsOf(node, operator);
    const [before, it, after] = [operands[index - 1], operands[index], operands[index + 1]];
    if (it && before) return [{ start: before.end, end: it.end, text: "" }];
    if (it && after) return [{ start: it.start, end: after.start, text: "" }];
    return missing(`operand ${index} of ${operator}`);
  };
}

/** Puts code before the statement: a statement, or a condition that guards this one. */
export function before(code: string): Change {
  return ({ node: { start } }) => [{ start, end: start, text: `${code}\n` }];
}

/** Moves the statement to just after the statement below another marker. */
export function moveAfter(rule: string): Change {
  return (at, marked) => {
    const { end } = marked(rule).node;
    return [...remove(at, marked), { start: end, end, text: `\n${textOf(at.source, at.node)}` }];
  };
}

export function moveBefore(rule: string): Change {
  return (at, marked) => [...remove(at, marked), ...before(textOf(at.source, at.node))(marked(rule), marked)];
}

/** Replaces text of the node where no other change fits. `pattern` must match once, and captures names instead of spelling them. */
export function text(pattern: RegExp, code: string): Change {
  return ({ source, node }) => {
    const was = textOf(source, node);
    const times = [...was.matchAll(new RegExp(pattern, `${pattern.flags}g`))].length;
    if (times !== 1) throw new Error(`${pattern} fits ${times} times, not once`);
    return [over(node, was.replace(pattern, code))];
  };
}

function textOf(source: string, { start, end }: Node): string {
  return source.slice(start, end);
}

function over({ start, end }: Node, text: string): Edit {
  return { start, end, text };
}

function instead(source: string, node: Node, code: string): Edit {
  return over(
    node,
    code.replaceAll("$&", () => textOf(source, node)),
  );
}

/** Leaves an empty statement in place of a statement, because an `if` may need one. Removes an item together with its comma. */
function removal(source: string, node: Node): Edit {
  if (/(?:Statement|Declaration)$/.test(node.type)) return over(node, ";");
  const comma = /^\s*,/.exec(source.slice(node.end))?.[0] ?? "";
  return { start: node.start, end: node.end + comma.length, text: "" };
}

function missing(what: string): never {
  throw new Error(`there is no ${what}`);
}

function listOf(node: Node): Node[] | undefined {
  if (node.type === "ObjectExpression") return node.properties;
  if (node.type === "ArrayExpression") return node.elements.filter((one) => one !== null);
  return node.type === "CallExpression" ? node.arguments : undefined;
}

function nameOf(item: Node): unknown {
  if (item.type === "Literal") return item.value;
  return item.type === "Property" && item.key.type === "Identifier" ? item.key.name : undefined;
}

function valueNodeOf(node: Node): Node | null | undefined {
  if (node.type === "VariableDeclaration") return node.declarations[0]?.init;
  if (node.type === "ExportNamedDeclaration") return node.declaration && valueNodeOf(node.declaration);
  if (node.type === "ExpressionStatement") return valueNodeOf(node.expression);
  if (node.type === "AssignmentExpression") return node.right;
  if (node.type === "Property") return node.value;
  if (node.type === "IfStatement") return valueNodeOf(node.consequent);
  return node.type === "ReturnStatement" ? node.argument : undefined;
}

function isConditional(node: Node): node is IfStatement | ConditionalExpression {
  return node.type === "IfStatement" || node.type === "ConditionalExpression";
}

function operandsOf(node: Node, operator: string): Node[] {
  const isOf = (one: Node): one is BinaryExpression | LogicalExpression =>
    (one.type === "LogicalExpression" || one.type === "BinaryExpression") && one.operator === operator;
  const operands: Node[] = [];
  let left: Node = [...nodesOf(node)].find(isOf) ?? missing(`expression with ${operator}`);
  for (; isOf(left); left = left.left) operands.unshift(left.right);
  return [left, ...operands];
}
