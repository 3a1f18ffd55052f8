import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BuildOptions } from "esbuild";
import { asList, asObject, type Json } from "../template/template.ts";

/** While the app runs, this environment variable asks it for notes of its bundles. */
export const NOTE_BUNDLES = "MINUTEHAND_NOTE_BUNDLES";
const KEY = "minutehand:bundle";

/** What the app noted in its template about the code of a function. Functions of other tools have no note. */
export type BundleNote = {
  /** The absolute paths of the bundled files. npm's list of installed packages stands for the files of packages. */
  readonly inputs: readonly string[];
  /** The options with which esbuild makes the bundle again. Absent: the code lies in a package and does not change. */
  readonly build: BuildOptions | undefined;
  /** The folder in which the function runs, if its code needs no bundle. */
  readonly folder?: string;
};

/** Lists npm's lists of the packages that the files of a folder can import: those of each `node_modules` in it and above it. */
export function packageLists(folder: string): string[] {
  const above = dirname(folder);
  const installed = join(folder, "node_modules");
  const lists = existsSync(installed) ? [join(installed, ".package-lock.json")] : [];
  return above === folder ? lists : [...lists, ...packageLists(above)];
}

export function readBundleNote(metadata: Json | undefined): BundleNote | undefined {
  const note = asObject(metadata)[KEY];
  if (note === undefined) return undefined;
  const { inputs, build, folder } = asObject(note);
  return {
    inputs: asList(inputs).map(String),
    build: build === undefined ? undefined : (asObject(build) as BuildOptions),
    ...(typeof folder === "string" && { folder }),
  };
}
