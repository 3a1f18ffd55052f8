import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { BuildFailure, BuildOptions, BuildResult, Message } from "esbuild";
import { exportsOf, filesOfBundle, nextOptions } from "../../src/general/handler-bundle.ts";
import { withoutPackages } from "../../src/general/package-files.ts";
import { errorText } from "../local-error.ts";
import type { FunctionSpec } from "../template/resources.ts";
import { packageLists } from "./bundle-note.ts";
import { functionFiles, placesOf } from "./sources.ts";

/** A rebuilt function; or its failure in one line of text, and the paths of the files that may repair the failure when they are saved. */
export type Rebuilt =
  | { readonly spec: FunctionSpec }
  | { readonly failure: string; readonly inputs: readonly string[] };

/** Hashes the code of a function. The same code gives the same hash, whether the app or the runner has bundled it. */
export function hashCode(codeDir: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(codeDir).sort())
    hash.update(`\n${name}\n`).update(readFileSync(join(codeDir, name)));
  return hash.digest("base64");
}

type InFolder = Pick<FunctionSpec, "isPython" | "bundle">;

/** Answers a function that runs in the folder of its code, with the code as it is now. */
export function withFolderCode<Spec extends InFolder>(spec: Spec, folder: string) {
  const hash = createHash("sha256");
  for (const file of functionFiles(folder, spec.isPython ?? false))
    hash.update(`\n${file}\n`).update(readFileSync(file));
  return { ...withFolderFiles(spec), codeDir: folder, codeHash: hash.digest("base64") };
}

/** Lists the files of a function again if it runs in the folder of its code. Former files stay listed, because one may have been deleted. */
export function withFolderFiles<Spec extends InFolder>(spec: Spec): Spec {
  const { bundle, isPython = false } = spec;
  if (bundle?.folder === undefined) return spec;
  const inputs = new Set([...bundle.inputs, ...functionFiles(bundle.folder, isPython)]);
  return { ...spec, bundle: { ...bundle, inputs: [...inputs] } };
}

/** `folder`: a new folder for the code, if it has changed. `root`: the folder to which the paths in a failure are relative. */
export async function rebuildFunction(
  spec: FunctionSpec,
  build: BuildOptions,
  { folder, root }: { folder: string; root: string },
): Promise<Rebuilt> {
  const { absWorkingDir = root } = build;
  try {
    const { outputFiles, metafile } = await buildHandler({ ...build, write: false, metafile: true });
    const inputs = withoutPackages(filesOfBundle(metafile).map((path) => resolve(absWorkingDir, path)));
    const exported = spec.handler.slice(spec.handler.lastIndexOf(".") + 1);
    const code = outputFiles.find(({ path }) => !path.endsWith(".map"))?.text ?? "";
    if (exportsOf(metafile, code)?.includes(exported) === false)
      return { failure: `${relative(root, entryOf(build))} exports no "${exported}"`, inputs };
    mkdirSync(folder, { recursive: true });
    for (const { path, contents } of outputFiles) writeFileSync(join(folder, basename(path)), contents);
    const bundle = { inputs, build };
    const codeHash = hashCode(folder);
    if (codeHash !== spec.codeHash) return { spec: { ...spec, codeDir: folder, codeHash, bundle } };
    rmSync(folder, { recursive: true });
    return { spec: { ...spec, bundle } };
  } catch (error) {
    const inputs = withoutPackages(errorsOf(error).flatMap((one) => pathsAtFault(one, absWorkingDir)));
    return { failure: failureText(error, absWorkingDir, root), inputs };
  }
}

type Wanted = BuildOptions & { readonly write: false; readonly metafile: true };

async function buildHandler(options: Wanted): Promise<BuildResult<Wanted>> {
  // Load esbuild only at the first save of a handler, because most runs never get here.
  const esbuild = await import("esbuild");
  const made = await esbuild.build(options).catch((error: BuildFailure) => error);
  const next = made instanceof Error && errorsOf(made).length === 0 ? undefined : nextOptions(options, made);
  if (next !== undefined) return buildHandler(next);
  if (made instanceof Error) throw made;
  return made;
}

function entryOf({ entryPoints, absWorkingDir = "" }: BuildOptions): string {
  const [entry] = Array.isArray(entryPoints) ? entryPoints : [];
  return typeof entry === "string" ? resolve(absWorkingDir, entry) : absWorkingDir;
}

/** Answers the first error of esbuild as `mail.ts:3:7: Expected ";" but found "x"`. */
function failureText(error: unknown, cwd: string, root: string): string {
  const errors = errorsOf(error);
  const [first] = errors;
  if (first === undefined) return errorText(error);
  const { location, text } = first;
  // esbuild counts columns from 0, and editors from 1.
  const place =
    location && `${relative(root, resolve(cwd, location.file))}:${location.line}:${location.column + 1}: `;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return `${place ?? ""}${text}${more}`;
}

function errorsOf(error: unknown): readonly Message[] {
  return (error as Partial<BuildFailure>).errors ?? [];
}

/** Lists the file with an error of esbuild, and the paths at which an import that cannot be resolved would lie. */
function pathsAtFault({ location, text }: Message, cwd: string): string[] {
  if (location === null) return [];
  const file = resolve(cwd, location.file);
  const [, wanted] = /^Could not resolve "(.+?)"/.exec(text) ?? [];
  if (wanted === undefined) return [file];
  if (/^\.{0,2}[\\/]/.test(wanted)) return [file, ...placesOf(resolve(dirname(file), wanted))];
  // An install may put a package into any of these folders.
  return [file, ...packageLists(dirname(file))];
}
