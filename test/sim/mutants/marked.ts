import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Node, type Program, parseSync, visitorKeys } from "oxc-parser";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const ELSEWHERE = ["test/**", "node_modules/**", "dist/**", "cdk.out/**", ".minutehand/**"];
/** `MARKER_LIKE` finds comments that are meant as markers. `MARKER` matches well-formed ones: `// rule: look-before-home`. */
const MARKER_LIKE = /\/\/ ?rule:/i;
const MARKER = /^ rule: ([a-z0-9]+(?:-[a-z0-9]+)+)$/;
/** What may stand between a marker and its node: space, comments and `else`. */
const NO_CODE = /^(?:\s|\/\/.*|\/\*[\s\S]*?\*\/)*(?:else\s+)?$/;

export type Marked = { readonly file: string; readonly source: string; readonly node: Node };

/** Finds each marker's node, by its rule. Throws if a marker is doubled, malformed, or above no statement, property or list item. */
export function markedNodes(sources: Iterable<[string, string]> = readSources()): Map<string, Marked> {
  const all = new Map<string, Marked>();
  for (const [file, source] of sources) {
    if (!MARKER_LIKE.test(source)) continue;
    for (const [rule, node] of markersIn(file, source)) {
      const other = all.get(rule);
      if (other) throw new Error(`// rule: ${rule} stands in ${other.file} and again in ${file}`);
      all.set(rule, { file, source, node });
    }
  }
  return all;
}

function* readSources(): Generator<[string, string]> {
  for (const file of globSync("*/**/*.ts", { cwd: ROOT, exclude: ELSEWHERE }))
    yield [file, readFileSync(`${ROOT}${file}`, "utf8")];
}

function markersIn(file: string, source: string): [string, Node][] {
  const { program, comments } = parseSync(file, source);
  const nodes = [...nodesOf(program)].filter((node) => node !== program);
  return comments
    .filter(({ value }) => MARKER_LIKE.test(`//${value}`))
    .map(({ value, end }) => {
      const rule = MARKER.exec(value)?.[1];
      if (rule === undefined)
        throw new Error(`//${value} in ${file} must name its rule by small words and hyphens`);
      const start = Math.min(...nodes.map((node) => node.start).filter((at) => at >= end));
      // A parent comes before its children, so the first node that begins here is the outermost.
      const node = nodes.find((one) => one.start === start);
      if (!node || !NO_CODE.test(source.slice(end, start)))
        throw new Error(`// rule: ${rule} in ${file} stands above no statement, property or list item`);
      return [rule, node];
    });
}

export function parse(file: string, source: string): Program {
  const { program, errors } = parseSync(file, source);
  if (errors[0]) throw new Error(`${file} cannot be parsed: ${errors[0].message}`);
  return program;
}

/** A node and all nodes below it: each node before its children, and the children in the order of the source. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesOf(child);
}

export function childrenOf(node: Node): Node[] {
  const values = (visitorKeys[node.type] ?? []).flatMap(
    (key) => (node as unknown as Record<string, Node | Node[] | null>)[key] ?? [],
  );
  return values.filter((value) => value !== null).sort((a, b) => a.start - b.start);
}
