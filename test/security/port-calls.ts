import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** A pattern for its name in the bundle's calls, and its methods. esbuild adds a number to a name that two modules use. */
const PORTS = [
  ["\\.pool", "read|insert|change|changeMany|transact|page|scan|count|remove|createdAt"],
  ["\\.queues", "send|receive|remove|hide|depth"],
  ["\\bpromotions\\d*", "put|remove"],
  ["\\bschedules(?:Of\\(\\w+\\)|\\d*)", "create|update|read|remove|list"],
  ["\\.eventSources\\?", "enable"],
  ["\\bsweepers\\d*", "start|wait"],
].map(([port, methods]) => `${port}\\.(?:${methods})`);
const CALL = new RegExp(`(?:${PORTS.join("|")})(?=\\()`, "g");
/** The circuit breaker only passes calls on. */
const FRAME = /^(src\/(?:protocol\/(?:[\w-]+\/)?(?!circuit-breaker)|consumer\/)[\w-]+\.ts):(\d+):/;

/** As `file:line function method`. From the bundle, because esbuild leaves out top-level functions that the entry cannot reach. */
export function portCallsIn(entry: string): string[] {
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, entry)],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    outfile: "bundle.mjs",
    format: "esm",
    platform: "node",
    target: "node24",
    sourcemap: "external",
    sourcesContent: false,
    packages: "external",
    logLevel: "silent",
  });
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? "";
  const sources = new SourceMap(JSON.parse(textOf(".map")));
  const calls = textOf(".mjs")
    .split("\n")
    .flatMap((text, line) =>
      [...text.matchAll(CALL)].map((match) => {
        const [called] = match;
        const method = called.slice(called.lastIndexOf(".") + 1);
        const found = sources.findEntry(line, match.index + 1);
        if (!("originalSource" in found)) throw new Error(`the source map has no place for ${text.trim()}`);
        return callAt(found.originalSource, found.originalLine + 1, method);
      }),
    );
  return [...new Set(calls)].sort();
}

/** The place that calls `method` of a port, from the stack of the running call. */
export function callerOf(method: string): string {
  const stack = new Error("where").stack ?? "";
  const frames = stack.split(ROOT).flatMap((rest) => FRAME.exec(rest) ?? []);
  const [, file, line] = frames;
  if (file === undefined)
    throw new Error(`${method} is called by nobody of src/protocol/ or src/consumer/:\n${stack}`);
  return callAt(file, Number(line), method);
}

const named = new Map<string, string>();

function callAt(file: string, line: number, method: string): string {
  const place = `${file}:${line} ${method}`;
  const known = named.get(place) ?? nameOf(file, line, method);
  named.set(place, known);
  return known;
}

function nameOf(file: string, line: number, method: string): string {
  const above = readFileSync(join(ROOT, file), "utf8").split("\n").slice(0, line).reverse();
  const within = above.map((text) => /^(?:export )?(?:async )?function\*? (\w+)/.exec(text)?.[1]);
  return `${file}:${line} ${within.find((name) => name !== undefined)} ${method}`;
}
