import { builtinModules, createRequire } from "node:module";
import { basename, join } from "node:path";
import type * as Esbuild from "esbuild";
import { bundledFiles, likeNode, requiresEsModule } from "../../src/general/bundled-files.ts";
import { requirePackages } from "../../src/general/optional-packages.ts";

/**
 * Node's modules by their names with `node:`, each as a module that requires it. An ESM import evaluates all exports: a WebSocket client
 * for `node:http`, the standard streams for `node:process`, together a sixth of a start. `require` evaluates only what is used, and hooks
 * of tracing layers see it. Names without `node:` stay, because esbuild would also replace the package `string_decoder/`.
 */
const REQUIRED_BUILTINS = Object.fromEntries(
  builtinModules
    .map((module) => `node:${module.replace(/^node:/, "")}`)
    // The brackets hide the call from esbuild, which would replace the name again.
    .map((name) => [name, `data:text/javascript,module.exports=(0,require)("${name}")`]),
);

export const OPTIONS = {
  bundle: true,
  write: false,
  metafile: true,
  format: "esm",
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  minify: true,
  legalComments: "none",
  logLevel: "silent",
  alias: REQUIRED_BUILTINS,
  // Bundled CommonJS packages still use these names of their module scope, which ESM does not have. esbuild itself gives them the other three:
  // `module`, `exports` and `this`.
  banner: {
    js:
      'import{createRequire}from"node:module";const require=createRequire(import.meta.url),' +
      "{filename:__filename,dirname:__dirname}=import.meta;",
  },
} satisfies Esbuild.BuildOptions;

/**
 * Without the sources' text, which only makes the map larger. The names are relative to the root, as if the bundle lay there, so a line of
 * a stack trace has `<folder of the function>/src/close-order.ts:12`.
 */
const MAPPED = { sourcemap: "linked", sourcesContent: false } satisfies Esbuild.BuildOptions;

/** The name of a bundle's file. Lambda's handler is `index.handler`. */
export const BUNDLE_FILE = "index.mjs";

export type BundleChoices = {
  readonly sourceMap?: boolean;
  readonly external?: readonly string[];
  /** Whether code that is imported on first use gets files of its own. Only for modules that just declare, as their order may change. */
  readonly split?: boolean;
};

function splitTo(root: string) {
  return {
    splitting: true,
    outdir: root,
    entryNames: basename(BUNDLE_FILE, ".mjs"),
    chunkNames: "chunk-[hash]",
    outExtension: { ".js": ".mjs" },
  } satisfies Esbuild.BuildOptions;
}

/** Answers esbuild's options for a bundle. They are JSON, because a bundle's note has them. */
export function optionsFor(
  entry: string,
  root: string,
  { sourceMap = false, external = [], split = false }: BundleChoices = {},
): typeof OPTIONS & Esbuild.BuildOptions {
  return {
    ...OPTIONS,
    ...(sourceMap && MAPPED),
    entryPoints: [entry],
    absWorkingDir: root,
    // A handler's packages may read the names of their classes, for example of a table's rows or of an error.
    ...(split ? splitTo(root) : { outfile: join(root, BUNDLE_FILE), keepNames: true }),
    external: [...external],
  };
}

export type Bundle = {
  readonly code: Uint8Array;
  /** The other files with code, by their names, if asked for. They lie in the same folder. */
  readonly chunks: ReadonlyMap<string, Uint8Array>;
  /** The source map, if asked for. The code names it as `index.mjs.map`, in the same folder. */
  readonly map: Uint8Array | undefined;
  readonly inputs: readonly string[];
  readonly exports: readonly string[];
  /** The options that made it. */
  readonly options: Esbuild.BuildOptions;
};

/**
 * Loads esbuild only when something must be bundled: the package's own functions are bundled already. Uses `require`, because a construct
 * cannot await an `import`. Throws an error with the command that installs esbuild.
 */
export function esbuild(): typeof Esbuild {
  requirePackages("the bundle of a handler", "esbuild");
  return createRequire(import.meta.url)("esbuild");
}

/** Bundles everything except `external` packages, as ESM for Node 24. Throws esbuild's error if the file does not compile. */
export function bundle(entry: string, root: string, choices: BundleChoices = {}): Bundle {
  const first = optionsFor(entry, root, choices);
  const made = esbuild().buildSync(first);
  const options = requiresEsModule(made.metafile) ? likeNode(first) : first;
  const { outputFiles, metafile } = options === first ? made : esbuild().buildSync(options);
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const code = files.get(BUNDLE_FILE);
  const map = files.get(`${BUNDLE_FILE}.map`);
  const output = metafile.outputs[BUNDLE_FILE];
  if (code === undefined || output === undefined) throw new Error(`${entry} gave no bundle`);
  const chunks = new Map([...files].filter(([name]) => !name.startsWith(BUNDLE_FILE)));
  return { code, chunks, map, inputs: bundledFiles(metafile).sort(), exports: output.exports, options };
}
