import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { bundle, esbuild, OF_HANDLERS, OPTIONS } from "./bundle.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** The functions of the construct. The npm package contains their bundles. */
export const CONSTRUCT_FUNCTIONS = [
  "api",
  "receive",
  "tick",
  "webhook",
  "target",
  "promote",
  "occurrence",
  "event",
] as const;
/** The consumers of this repository's own app. */
export const APP_FUNCTIONS = ["reminders", "precise"] as const;

export type FunctionName = (typeof CONSTRUCT_FUNCTIONS | typeof APP_FUNCTIONS)[number];

/** The inputs of a bundle: paths from the root, with their hashes. Stored beside the bundle's folder, in `<name>.inputs.json`. */
type Origin = {
  readonly key: string;
  readonly inputs: Readonly<Record<string, string>>;
  readonly files: readonly string[];
};

export type BuildFolders = {
  /** The folder with the lock file and the tsconfig. Paths of inputs are relative to it. @default the project's root */
  readonly root?: string;
  /** The folder for `<name>`. @default `dist/functions` in the root */
  readonly outDir?: string;
};

export function entryOf(name: FunctionName): string {
  return join(ROOT, "functions", `${name}.ts`);
}

/**
 * Bundles to `<outDir>/<name>/index.mjs` and chunks, or a consumer to `index.cjs`, unless the bundle there has the same inputs. The same
 * inputs give the same bytes. Throws esbuild's error if the function does not compile.
 * @returns the folder that holds the bundle and nothing else
 */
export function buildFunction(entry: string, folders: BuildFolders = {}): string {
  const root = folders.root ?? ROOT;
  const name = basename(entry).replace(/\.[^.]+$/, "");
  const folder = join(folders.outDir ?? join(root, "dist", "functions"), name);
  const originFile = `${folder}.inputs.json`;
  const key = keyOf(root, entry);
  if (isCurrent(originFile, key, root, folder)) return folder;

  const startedAt = Date.now();
  // A bundle of the app's own consumers is made like that of any handler. A handler's modules may do more than declare.
  const split = CONSTRUCT_FUNCTIONS.some((one) => one === name);
  const { file: main, code, chunks, inputs } = bundle(entry, root, { split });
  mkdirSync(folder, { recursive: true });
  // Remove the origin file first, so that a crash between the two steps never leaves a new bundle beside an old origin.
  rmSync(originFile, { force: true });
  // The code names its chunks, so the chunks come first.
  for (const [file, contents] of [...chunks, [main, code] as const])
    replaceFile(join(folder, file), contents);
  const files = [...chunks.keys(), main];
  for (const file of readdirSync(folder))
    if (!files.includes(file)) rmSync(join(folder, file), { force: true });
  // If an input was saved while esbuild ran, the bundle may have the input's old text. Without an origin file the next call builds again.
  if (inputs.some((path) => savedSince(resolve(root, path), startedAt))) return folder;
  const hashes = Object.fromEntries(inputs.map((path) => [path, hashOf(resolve(root, path)) ?? "missing"]));
  replaceFile(originFile, JSON.stringify({ key, inputs: hashes, files } satisfies Origin));
  return folder;
}

/** A key made of everything, except the inputs, that changes the bytes of a bundle. The lock file stands for the versions of packages. */
function keyOf(root: string, entry: string): string {
  const settings = ["package-lock.json", "tsconfig.json"].map((file) => hashOf(join(root, file)));
  return JSON.stringify({
    ...{ esbuild: esbuild().version, entry: relative(root, entry) },
    ...{ OPTIONS, OF_HANDLERS, settings },
  });
}

function isCurrent(originFile: string, key: string, root: string, folder: string): boolean {
  const text = readIfThere(originFile);
  if (text === undefined) return false;
  const origin = JSON.parse(text.toString()) as Origin;
  return (
    origin.key === key &&
    origin.files.every((file) => existsSync(join(folder, file))) &&
    Object.entries(origin.inputs).every(([path, hash]) => hashOf(resolve(root, path)) === hash)
  );
}

function savedSince(file: string, time: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > time;
}

function hashOf(file: string): string | undefined {
  const contents = readIfThere(file);
  return contents && createHash("sha256").update(contents).digest("base64");
}

/** `undefined` if the file does not exist. `existsSync` before the read would not help: another process may delete the file in between. */
function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces a file in one step, because another process may build or read the same bundle. */
function replaceFile(file: string, contents: string | Uint8Array): void {
  const folder = dirname(file);
  // Do not write the draft into the bundle's own folder, because everything there is deployed.
  const draft = join(dirname(folder), `.${basename(folder)}.${process.pid}.tmp`);
  writeFileSync(draft, contents);
  renameSync(draft, file);
}
