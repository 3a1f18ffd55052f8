import { globSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import type { Node, Program } from "oxc-parser";
import { childrenOf, markedNodes, nodesOf, parse } from "./mutants/marked.ts";
import { OUT_OF_REACH } from "./out-of-reach.ts";

/** A place that some history should reach. `at`: its offset. `isData`: it is outside of all functions, so every history uses it. */
type Point = { readonly name: string; readonly file: string; readonly at: number; readonly isData?: boolean };
type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };

const ROOT = new URL("../../", import.meta.url);

/** The places that histories should reach: each rule with a marker, and each refusal and each recovery from an error in `src/protocol/`. */
export function pointsOf(): Point[] {
  const programs = new Map<string, Program>();
  const rules = [...markedNodes()].map(([rule, { file, source, node }]) => {
    // A rule that is a condition is reached when the condition holds.
    const at = node.type === "IfStatement" ? node.consequent.start : node.start;
    const program = programs.get(file) ?? parse(file, source);
    programs.set(file, program);
    const isData = functionsAround(program, at).length === 0;
    return { name: `rule      ${rule}`, file, at, isData };
  });
  const files = globSync("src/protocol/**/*.ts", { cwd: ROOT }).sort();
  return [...rules, ...files.flatMap((file) => pathsIn(file, readFileSync(new URL(file, ROOT), "utf8")))];
}

/** Recoveries are named by their function and not by their line, so that other changes of the file do not rename them. */
function pathsIn(file: string, source: string): Point[] {
  const program = parse(file, source);
  const count = new Map<string, number>();
  return [...nodesOf(program)].flatMap((node) => {
    const code = refusedWith(node);
    if (code !== undefined) return [{ name: `refusal   ${code}`, file, at: node.start }];
    const at = recoveryOf(node);
    if (at === undefined) return [];
    const where = `recovery  ${file} ${functionsAround(program, at)[0] ?? ""}`;
    const nth = (count.get(where) ?? 0) + 1;
    count.set(where, nth);
    return [{ name: nth === 1 ? where : `${where} ${nth}`, file, at }];
  });
}

function functionsAround(node: Node, at: number): string[] {
  if (!(node.start <= at && at < node.end)) return [];
  const inner = childrenOf(node).flatMap((child) => functionsAround(child, at));
  if (!/Function/.test(node.type)) return inner;
  return ["id" in node && node.id && "name" in node.id ? String(node.id.name) : "", ...inner];
}

/** The code of the error that this node makes, if it makes one. Several places may make errors of the same code. */
function refusedWith(node: Node): string | undefined {
  if (node.type !== "NewExpression" || !("name" in node.callee)) return undefined;
  const [code] = node.arguments;
  return node.callee.name === "MinutehandError" && code && "value" in code ? String(code.value) : undefined;
}

function recoveryOf(node: Node): number | undefined {
  if (node.type === "CatchClause") return node.body.start;
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return undefined;
  const { property } = node.callee;
  const [act] = node.arguments;
  const isCatch = "name" in property && property.name === "catch" && act?.type === "ArrowFunctionExpression";
  return isCatch ? act.body.start : undefined;
}

/** The places that none of these histories reached, although a history can. `reached`: how many histories reached each place. */
export function zerosOf(places: readonly string[], reached: ReadonlyMap<string, number>): string[] {
  return places.filter((name) => !reached.get(name) && !Object.hasOwn(OUT_OF_REACH, name));
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
      .filter(({ file, at, isData }) => isData || isRun(ranges.get(new URL(file, ROOT).href) ?? [], at))
      .map(({ name }) => name);
  };
}

function isRun(ranges: readonly Range[], at: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset);
  const sizeOf = ({ startOffset, endOffset }: Range): number => endOffset - startOffset;
  const inner = around.sort((a, b) => sizeOf(a) - sizeOf(b))[0];
  return inner !== undefined && inner.count > 0;
}
