import { globSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import type { Node } from "oxc-parser";
import { markedNodes, nodesOf, parse } from "./mutants/marked.ts";

/** A place in the code that some history should reach. `at`: its offset in its file. */
type Point = { readonly name: string; readonly file: string; readonly at: number };
type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };

const ROOT = new URL("../../", import.meta.url);

/** The places that histories should reach: each rule with a marker, and each refusal and each recovery from an error in `protocol/`. */
export function pointsOf(): Point[] {
  const rules = [...markedNodes()].map(([rule, { file, node }]) => {
    // A rule that is a condition is reached when the condition holds.
    const at = node.type === "IfStatement" ? node.consequent.start : node.start;
    return { name: `rule      ${rule}`, file, at };
  });
  const files = globSync("protocol/**/*.ts", { cwd: ROOT }).sort();
  return [...rules, ...files.flatMap((file) => pathsIn(file, readFileSync(new URL(file, ROOT), "utf8")))];
}

function pathsIn(file: string, source: string): Point[] {
  return [...nodesOf(parse(file, source))].flatMap((node) => {
    const line = source.slice(0, node.start).split("\n").length;
    const code = refusedWith(node);
    if (code !== undefined) return [{ name: `refusal   ${code}`, file, at: node.start }];
    const at = recoveryOf(node);
    return at === undefined ? [] : [{ name: `recovery  ${file}:${line}`, file, at }];
  });
}

/** The code of the error that this node makes, if it makes one. Several places may make errors of the same code. */
function refusedWith(node: Node): string | undefined {
  if (node.type !== "NewExpression" || !("name" in node.callee)) return undefined;
  const [code] = node.arguments;
  return node.callee.name === "MinutehandError" && code && "value" in code ? String(code.value) : undefined;
}

/** Where the code begins that runs after an error, if this node catches errors. */
function recoveryOf(node: Node): number | undefined {
  if (node.type === "CatchClause") return node.body.start;
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return undefined;
  const { property } = node.callee;
  const [act] = node.arguments;
  const isCatch = "name" in property && property.name === "catch" && act?.type === "ArrowFunctionExpression";
  return isCatch ? act.body.start : undefined;
}

/** Begins to watch this thread. Answers a function that tells which places were reached since its last call, by V8's coverage. */
export async function watchReached(): Promise<() => Promise<string[]>> {
  const points = pointsOf();
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return async () => {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const ranges = new Map(result.map(({ url, functions }) => [url, functions.flatMap((one) => one.ranges)]));
    return points
      .filter(({ file, at }) => isRun(ranges.get(new URL(file, ROOT).href) ?? [], at))
      .map(({ name }) => name);
  };
}

/** Whether the innermost range around an offset was run. */
function isRun(ranges: readonly Range[], at: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset);
  const sizeOf = ({ startOffset, endOffset }: Range): number => endOffset - startOffset;
  const inner = around.sort((a, b) => sizeOf(a) - sizeOf(b))[0];
  // Code outside of functions runs when its file is loaded, before the first history.
  return inner !== undefined && (inner.count > 0 || inner === ranges[0]);
}
