import type { Node, Program } from "oxc-parser";
import { childrenOf } from "./marked.ts";

/** The names that code uses without a declaration in scope. Globals and types do not count. */
export function undeclaredNames(program: Program): string[] {
  return [...new Set(usedOutside(program, new Set()))].filter((name) => !(name in globalThis));
}

function usedOutside(node: Node, outer: ReadonlySet<string>): string[] {
  if (node.type === "Identifier") return outer.has(node.name) ? [] : [node.name];
  const known = new Set([...outer, ...declaredBy(node)]);
  return childrenOf(node)
    .filter((child) => !isNoUse(node, child))
    .flatMap((child) => usedOutside(child, known));
}

/** The names that a node declares for everything below it, in its statements, its head or its parameters. */
function declaredBy(node: Node): string[] {
  if (node.type === "Program" || node.type === "BlockStatement") return node.body.flatMap(declaredIn);
  if (node.type === "SwitchStatement")
    return node.cases.flatMap(({ consequent }) => consequent.flatMap(declaredIn));
  if (node.type === "ForStatement") return node.init ? declaredIn(node.init) : [];
  if (node.type === "ForOfStatement" || node.type === "ForInStatement") return declaredIn(node.left);
  if (node.type === "CatchClause") return node.param ? namesOf(node.param) : [];
  if (node.type === "ArrowFunctionExpression") return node.params.flatMap(namesOf);
  if (node.type === "FunctionDeclaration" || node.type === "FunctionExpression")
    return [...node.params.flatMap(namesOf), ...(node.id ? namesOf(node.id) : []), "arguments"];
  return [];
}

function declaredIn(statement: Node): string[] {
  if (statement.type === "ExportNamedDeclaration")
    return statement.declaration ? declaredIn(statement.declaration) : [];
  if (statement.type === "ImportDeclaration")
    return statement.specifiers.flatMap(({ local }) => namesOf(local));
  if (statement.type === "VariableDeclaration")
    return statement.declarations.flatMap(({ id }) => namesOf(id));
  if (statement.type === "FunctionDeclaration" || statement.type === "ClassDeclaration")
    return statement.id ? namesOf(statement.id) : [];
  return [];
}

function namesOf(pattern: Node): string[] {
  if (pattern.type === "Identifier") return [pattern.name];
  if (pattern.type === "ObjectPattern") return pattern.properties.flatMap(namesOf);
  if (pattern.type === "ArrayPattern") return pattern.elements.flatMap((one) => (one ? namesOf(one) : []));
  if (pattern.type === "Property") return namesOf(pattern.value);
  if (pattern.type === "AssignmentPattern") return namesOf(pattern.left);
  return pattern.type === "RestElement" ? namesOf(pattern.argument) : [];
}

/** Whether `child` only names a member, a key or a type, and so uses no value. */
function isNoUse(node: Node, child: Node): boolean {
  if (/^(?:TSType|TSInterface|Import|ExportSpecifier)/.test(child.type)) return true;
  if (node.type === "MemberExpression") return child === node.property && !node.computed;
  return node.type === "Property" && child === node.key && !node.computed && !node.shorthand;
}
