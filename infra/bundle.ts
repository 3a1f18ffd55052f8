import { createRequire } from "node:module";
import { join } from "node:path";
import type * as Esbuild from "esbuild";
import { requirePackages } from "../general/optional-packages.ts";

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
  // Bundled CommonJS packages still call `require` for Node's own modules, which ESM does not have.
  banner: {
    js: 'import{createRequire}from"node:module";const require=createRequire(import.meta.url);',
  },
} satisfies Esbuild.BuildOptions;

/**
 * A source map with the names of the sources. It does not contain their text, because the text only makes the map larger. The names are
 * relative to the root, as if the bundle lay in the root. So a line of a stack trace has `<folder of the function>/src/close-order.ts:12`.
 */
const MAPPED = { sourcemap: "linked", sourcesContent: false } satisfies Esbuild.BuildOptions;

/** The name of a bundle's file. Lambda's handler is `index.handler`. */
export const BUNDLE_FILE = "index.mjs";

export type BundleChoices = {
  /** Whether the bundle gets a source map. */
  readonly sourceMap?: boolean;
  /** Packages that are not bundled. */
  readonly external?: readonly string[];
};

/** Answers esbuild's options for a bundle. They are JSON, because a bundle's note has them. */
export function optionsFor(
  entry: string,
  root: string,
  { sourceMap = false, external = [] }: BundleChoices = {},
): typeof OPTIONS & Esbuild.BuildOptions {
  return {
    ...OPTIONS,
    ...(sourceMap && MAPPED),
    entryPoints: [entry],
    absWorkingDir: root,
    outfile: join(root, BUNDLE_FILE),
    external: [...external],
  };
}

export type Bundle = {
  readonly code: Uint8Array;
  /** The source map, if asked for. The code names it as `index.mjs.map`, in the same folder. */
  readonly map: Uint8Array | undefined;
  /** The files that were bundled, relative to the root. */
  readonly inputs: readonly string[];
  /** The names that the entry exports. */
  readonly exports: readonly string[];
};

/**
 * Loads esbuild, only when something must be bundled. An app without `addHandler` needs no esbuild, because the package's
 * functions are bundled already. Uses `require`, because a construct cannot await an `import`. Throws an error with the command
 * that installs esbuild, if esbuild is not installed.
 */
export function esbuild(): typeof Esbuild {
  requirePackages("the bundle of a handler", "esbuild");
  return createRequire(import.meta.url)("esbuild");
}

/**
 * Bundles a file with everything that it imports, except `external` packages, as ESM for Node 24. Throws esbuild's error if the file does
 * not compile.
 */
export function bundle(entry: string, root: string, choices: BundleChoices = {}): Bundle {
  const { outputFiles, metafile } = esbuild().buildSync(optionsFor(entry, root, choices));
  const file = outputFiles.find(({ path }) => path.endsWith(BUNDLE_FILE));
  const map = outputFiles.find(({ path }) => path.endsWith(".map"));
  const output = metafile.outputs[BUNDLE_FILE];
  if (file === undefined || output === undefined) throw new Error(`${entry} gave no bundle`);
  const inputs = Object.keys(metafile.inputs).sort();
  return { code: file.contents, map: map?.contents, inputs, exports: output.exports };
}
