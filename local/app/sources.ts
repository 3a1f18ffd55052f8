import { existsSync, globSync, statSync } from "node:fs";
import { extname, join } from "node:path";

/** The program with `minutehand template`. If it is the app, what it reads is all that the app depends on. */
export const OWN_PROGRAM = join(import.meta.dirname, `../../src/cli/main${extname(import.meta.filename)}`);
/** Packages, output of builds, and folders whose names begin with a dot have no source of an app. */
const OUTPUT = /(?:^|[\\/])(?:\.[^\\/]+|node_modules|cdk\.out|dist|venv|__pycache__)[\\/]/;
export const CODE = /\.(?:[cm]?[jt]sx?|py)$/;
/** The second and the third name are those that pytest looks for. */
const TEST =
  /[.-](?:test|spec)\.[^.]+$|(?:^|[\\/])(?:test_[^\\/]*|[^\\/]*_test|conftest)\.py$|(?:^|[\\/])tests[\\/].*\.py$/;
/** Lists the files that `minutehand template` has written into a folder, with the hashes of their contents. So such a folder is output. */
export const WRITTEN_LIST = "written.json";
/** An import may leave the extension out, and in TypeScript it may name the JavaScript file that the source becomes. */
const ENDINGS = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js"];

/** `path`: relative to the app's folder. Also true for a path outside of the folder. */
export function isOutput(path: string): boolean {
  return OUTPUT.test(path);
}

/** Lists the code in the app's folder. `tests`: whether with the tests. */
export function codeFiles(root: string, { tests } = { tests: false }): string[] {
  const isWritten = (path: string) => !CODE.test(path) && existsSync(join(root, path, WRITTEN_LIST));
  return globSync("**/*", { cwd: root, exclude: (path) => isOutput(`${path}/`) || isWritten(path) })
    .filter((path) => CODE.test(path) && (tests || !TEST.test(path)))
    .map((path) => join(root, path));
}

/** Lists the code of a function that runs in `folder` without a bundle, without tests. */
export function functionFiles(folder: string, isPython: boolean): string[] {
  return codeFiles(folder)
    .sort()
    .filter(
      // An editor's mark of a file may be a link that leads nowhere.
      (path) => path.endsWith(".py") === isPython && statSync(path, { throwIfNoEntry: false })?.isFile(),
    );
}

/** Lists the places at which the file may appear that an import has not found. */
export function placesOf(path: string): string[] {
  const stem = path.replace(/\.[cm]?js$/, "");
  return [path, ...ENDINGS.map((ending) => stem + ending)];
}
