import { globSync } from "node:fs";
import { extname, join } from "node:path";

/** The program with `minutehand template`. If it is the app, what it reads is all that the app depends on. */
export const OWN_PROGRAM = join(import.meta.dirname, `../../src/cli/main${extname(import.meta.filename)}`);
/** Packages, output of builds, and folders whose names begin with a dot have no source of an app. */
const OUTPUT = /(?:^|[\\/])(?:\.[^\\/]+|node_modules|cdk\.out|dist)[\\/]/;
export const CODE = /\.(?:[cm]?[jt]sx?|py)$/;
const TEST = /[.-](?:test|spec)\.[^.]+$/;
/** An import may leave the extension out, and in TypeScript it may name the JavaScript file that the source becomes. */
const ENDINGS = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];

/** `path`: relative to the app's folder. Also true for a path outside of the folder. */
export function isOutput(path: string): boolean {
  return OUTPUT.test(path);
}

/** Lists the code in the app's folder. `tests`: whether with the tests. */
export function codeFiles(root: string, { tests } = { tests: false }): string[] {
  return globSync("**/*", { cwd: root, exclude: (path) => isOutput(`${path}/`) })
    .filter((path) => CODE.test(path) && (tests || !TEST.test(path)))
    .map((path) => join(root, path));
}

/** Lists the places at which the file may appear that an import has not found. */
export function placesOf(path: string): string[] {
  const stem = path.replace(/\.[cm]?js$/, "");
  return [path, ...ENDINGS.map((ending) => stem + ending)];
}
