import { spawn } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Node } from "oxc-parser";
import { nodesOf, parse } from "./mutants/marked.ts";

// Prints lines that only histories, only unit tests, or neither run, by V8's coverage; takes minutes. Node strips types in place, so
// offsets are the source's. It loads the sources for Vitest too, so tests that replace modules fail.

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type Script = { readonly url: string; readonly functions: readonly { readonly ranges: readonly Range[] }[] };

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SOURCES = "src/{protocol,core,settings,consumer}/**/*.ts";
/** Types and parts of declarations that never run. */
const NOT_RUN = /^(TS|BlockStatement|EmptyStatement|FunctionDeclaration|Import|Export)/;

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "400" }, from: { type: "string", default: "1" } },
});
const unit = await coverageOf(
  ["node_modules/vitest/vitest.mjs", "run", "--project", "unit", "--experimental.viteModuleRunner=false"],
  // Vitest kills its workers, which then write no coverage. So each worker writes it when it is told to stop.
  ["--experimental.nodeLoader=false"],
  `--import ${new URL("write-coverage.ts", import.meta.url).href}`,
);
const sim = await coverageOf(["test/sim/main.ts", "--seeds", values.seeds, "--from", values.from], [], "");
const files = globSync(SOURCES, { cwd: ROOT }).sort();
print("which only histories run", (line) => line.isInSim && !line.isInUnit);
print("which no history runs, but a unit test", (line) => !line.isInSim && line.isInUnit);
print("which no history and no unit test runs", (line) => !line.isInSim && !line.isInUnit);

async function coverageOf(
  program: readonly string[],
  more: readonly string[],
  options: string,
): Promise<Map<string, Uint8Array>> {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-lines-"));
  const env = {
    ...process.env,
    NODE_V8_COVERAGE: folder,
    NODE_OPTIONS: options,
    // Functions from the compile cache have no exact coverage.
    NODE_DISABLE_COMPILE_CACHE: "1",
  };
  const child = spawn(process.execPath, [...program, ...more], { cwd: ROOT, env, stdio: ["ignore", 2, 2] });
  await new Promise((resolve) => child.on("close", resolve));
  const run = new Map<string, Uint8Array>();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), "utf8")) as { result: Script[] };
    for (const script of result) addRun(run, script);
  }
  rmSync(folder, { recursive: true });
  return run;
}

function addRun(run: Map<string, Uint8Array>, { url, functions }: Script): void {
  if (!url.startsWith(pathToFileURL(ROOT).href) || url.includes("/node_modules/")) return;
  const ranges = functions.flatMap((one) => one.ranges);
  const length = Math.max(...ranges.map(({ endOffset }) => endOffset));
  const own = new Uint8Array(length);
  const sizeOf = ({ startOffset, endOffset }: Range): number => endOffset - startOffset;
  // The innermost range decides, so it is painted last.
  for (const range of [...ranges].sort((a, b) => sizeOf(b) - sizeOf(a)))
    own.fill(range.count > 0 ? 1 : 0, range.startOffset, range.endOffset);
  const file = fileURLToPath(url).slice(ROOT.length);
  const all = run.get(file) ?? new Uint8Array(length);
  run.set(
    file,
    own.map((isRun, at) => isRun | (all[at] ?? 0)),
  );
}

type Line = { readonly isInUnit: boolean; readonly isInSim: boolean };

function print(title: string, isMeant: (line: Line) => boolean): void {
  const found = files.flatMap((file) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    const starts = [...statementsOf(parse(file, source))].filter((at) =>
      isMeant({ isInUnit: unit.get(file)?.[at] === 1, isInSim: sim.get(file)?.[at] === 1 }),
    );
    const numbers = new Set(starts.map((at) => source.slice(0, at).split("\n").length));
    return [...numbers].map((number) => `${file}:${number}  ${source.split("\n")[number - 1]?.trim()}`);
  });
  console.log(`\n${found.length} lines ${title}:\n${found.map((line) => `  ${line}`).join("\n")}`);
}

function* statementsOf(program: Node): Generator<number> {
  for (const node of nodesOf(program)) {
    if (/Statement$|^VariableDeclaration$/.test(node.type) && !NOT_RUN.test(node.type)) yield node.start;
    if (node.type === "ArrowFunctionExpression") yield node.body.start;
    if (node.type === "ConditionalExpression") yield* [node.consequent.start, node.alternate.start];
    // A `??` often stands only for the compiler, which does not know that a list has an entry.
    if (node.type === "LogicalExpression" && node.operator !== "??") yield node.right.start;
  }
}
