import { createRequire } from "node:module";
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

export type Bundle = {
  readonly code: Uint8Array;
  /** The files that were bundled, relative to the root. */
  readonly inputs: readonly string[];
  /** The names that the entry exports. */
  readonly exports: readonly string[];
};

/**
 * Loads esbuild, only when something must be bundled. Most apps of users need no esbuild, because the package's functions are bundled
 * already. Uses `require`, because a construct cannot await an `import`. Throws an error with the command that installs esbuild, if it is not
 * installed.
 */
export function esbuild(): typeof Esbuild {
  requirePackages("the bundle of a handler", "esbuild");
  return createRequire(import.meta.url)("esbuild");
}

/** Bundles a file with everything that it imports, as ESM for Node 24. Throws esbuild's error if the file does not compile. */
export function bundle(entry: string, root: string): Bundle {
  const { outputFiles, metafile } = esbuild().buildSync({
    ...OPTIONS,
    entryPoints: [entry],
    absWorkingDir: root,
  });
  const [file] = outputFiles;
  const [output] = Object.values(metafile.outputs);
  if (file === undefined || output === undefined) throw new Error(`${entry} gave no bundle`);
  return { code: file.contents, inputs: Object.keys(metafile.inputs).sort(), exports: output.exports };
}
