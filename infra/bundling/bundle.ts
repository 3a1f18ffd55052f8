import { createRequire } from "node:module";
import { basename, join } from "node:path";
import type * as Esbuild from "esbuild";
import {
  COMMON_JS,
  ES_MODULE,
  exportsOf,
  filesOfBundle,
  nextOptions,
} from "../../src/general/handler-bundle.ts";
import { requirePackages } from "../../src/general/optional-packages.ts";

const BOTH_FORMATS = {
  bundle: true,
  write: false,
  metafile: true,
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  minify: true,
  // Otherwise the minifier keeps the line breaks of texts, and makes short lines. The place of an error in one would look like a place in the source.
  supported: { "template-literal": false },
  legalComments: "none",
  logLevel: "silent",
} satisfies Esbuild.BuildOptions;

/** The options of the construct's own functions. */
export const OPTIONS = { ...BOTH_FORMATS, ...ES_MODULE } satisfies Esbuild.BuildOptions;

/** The options of handlers. A handler's packages may read the names of their classes, for example of a table's rows or of an error. */
export const OF_HANDLERS = {
  ...BOTH_FORMATS,
  ...COMMON_JS,
  keepNames: true,
} satisfies Esbuild.BuildOptions;

/**
 * Without the sources' text, which only makes the map larger. The names are relative to the root, as if the bundle lay there, so a line of
 * a stack trace has `<folder of the function>/src/close-order.ts:12`.
 */
const MAPPED = { sourcemap: "linked", sourcesContent: false } satisfies Esbuild.BuildOptions;

/** Lambda's handler is `index.handler`. A file named `.js` would be an ES module below a `package.json` that says so. */
const NAME = "index";

export type BundleChoices = {
  readonly sourceMap?: boolean;
  readonly external?: readonly string[];
  /** Whether code that is imported on first use gets files of its own. Only for modules that just declare, as their order may change. */
  readonly split?: boolean;
};

/** Answers esbuild's options for a bundle. They are JSON, because a bundle's note has them. */
export function optionsFor(
  entry: string,
  root: string,
  { sourceMap = false, external = [], split = false }: BundleChoices = {},
): typeof BOTH_FORMATS & Esbuild.BuildOptions {
  return {
    ...(split ? splitTo(root) : { ...OF_HANDLERS, outfile: join(root, `${NAME}.cjs`) }),
    ...(sourceMap && MAPPED),
    entryPoints: [entry],
    absWorkingDir: root,
    external: [...external],
  };
}

function splitTo(root: string) {
  return {
    ...OPTIONS,
    splitting: true,
    outdir: root,
    entryNames: NAME,
    chunkNames: "chunk-[hash]",
    outExtension: { ".js": ".mjs" },
  } satisfies Esbuild.BuildOptions;
}

export type Bundle = {
  /** The name of the file with the code: `index.cjs`, or `index.mjs` if the code is an ES module. */
  readonly file: string;
  readonly code: Uint8Array;
  /** The other files with code, by their names, if asked for. They lie in the same folder. */
  readonly chunks: ReadonlyMap<string, Uint8Array>;
  /** The source map, if asked for. The code names it as `index.cjs.map`, in the same folder. */
  readonly map: Uint8Array | undefined;
  readonly inputs: readonly string[];
  /** `undefined`: the entry is CommonJS, and only running it tells its exports. */
  readonly exports: readonly string[] | undefined;
  /** Packages of the AWS SDK that are not installed, so that the bundle expects them in Lambda's runtime. */
  readonly leftToRuntime: readonly string[];
  /** The options of the first try. `nextOptions` makes those of the others. */
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

/** Bundles everything except `external` packages, for Node 24. Throws esbuild's error if the file does not compile. */
export function bundle(entry: string, root: string, choices: BundleChoices = {}): Bundle {
  const options = optionsFor(entry, root, choices);
  const { outputFiles, metafile, external } = build(options);
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const [file, code] = [...files].find(([name]) => /^index\.[cm]js$/.test(name)) ?? [];
  if (file === undefined || code === undefined) throw new Error(`${entry} gave no bundle`);
  return {
    file,
    code,
    chunks: new Map([...files].filter(([name]) => !name.startsWith(file))),
    map: files.get(`${file}.map`),
    inputs: filesOfBundle(metafile).sort(),
    exports: exportsOf(metafile, Buffer.from(code).toString()),
    leftToRuntime: external.filter((name) => !options.external?.includes(name)),
    options,
  };
}

type Options = ReturnType<typeof optionsFor>;

function build(options: Options): Esbuild.BuildResult<Options> & { readonly external: readonly string[] } {
  const made = tryToBuild(options);
  const next = nextOptions(options, made);
  if (next !== undefined) return build(next);
  if (made instanceof Error) throw made;
  return { ...made, external: options.external ?? [] };
}

function tryToBuild(options: Options): Esbuild.BuildResult<Options> | Esbuild.BuildFailure {
  try {
    return esbuild().buildSync(options);
  } catch (error) {
    if (error instanceof Error && "errors" in error) return error as Esbuild.BuildFailure;
    throw error;
  }
}
