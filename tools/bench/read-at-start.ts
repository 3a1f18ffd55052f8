import { readdirSync } from "node:fs";
import type { Metafile } from "esbuild";
import { esbuild } from "../../infra/bundling/bundle.ts";

type Importing = Readonly<Record<string, { readonly imports: Metafile["outputs"][string]["imports"] }>>;

/** Answers a file and all that it imports, directly or not, without what it imports on first use. */
export function readAtStart(files: Importing, first: string): Set<string> {
  const read = new Set([first]);
  for (const file of read)
    for (const { path, kind } of files[file]?.imports ?? [])
      if (kind === "import-statement" && path in files) read.add(path);
  return read;
}

/** Answers the file of a bundle's folder that Lambda loads: `index.mjs`, or `index.cjs` of a consumer. */
export function mainFile(folder: string): string {
  const main = readdirSync(folder).find((name) => /^index\.[cm]js$/.test(name));
  if (main === undefined) throw new Error(`there is no bundle in ${folder}`);
  return main;
}

/** Answers the size of the code that the start of a function reads, in bytes. `folder`: the folder of its bundle. */
export function bytesAtStart(folder: string): number {
  const main = mainFile(folder);
  const { inputs } = esbuild().buildSync({
    entryPoints: [main],
    absWorkingDir: folder,
    bundle: true,
    write: false,
    metafile: true,
    outdir: "out",
    format: "esm",
    platform: "node",
    logLevel: "silent",
    // The files of a bundle are no package, so no manifest says which of their imports are needless.
    ignoreAnnotations: true,
  }).metafile;
  return [...readAtStart(inputs, main)].reduce((sum, file) => sum + (inputs[file]?.bytes ?? 0), 0);
}
