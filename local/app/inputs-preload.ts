/**
 * By `--import` in each Node process of a CDK app: at its end appends to `MINUTEHAND_INPUTS_FILE` the paths of the files that it imported or
 * read from the app's folder, and of those at which an import found no file. Leaves out packages and build output.
 */
import fs from "node:fs";
import * as modules from "node:module";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isOfPackages } from "../../src/general/package-files.ts";
import { isOutput, OWN_PROGRAM, placesOf } from "./sources.ts";

const file = process.env.MINUTEHAND_INPUTS_FILE;
const root = process.cwd();
const { readFileSync } = fs;
const paths = new Set<string>();

// An older Node has no `registerHooks`. Then only the files that the app reads by `readFileSync` are known.
modules.registerHooks?.({
  resolve(specifier, context, nextResolve) {
    try {
      const resolved = nextResolve(specifier, context);
      // Tools such as tsx add a query.
      const path = pathOf(resolved.url.replace(/[?#].*/, ""));
      if (path !== undefined && !isOfPackages(path)) paths.add(path);
      return resolved;
    } catch (error) {
      const missing = /^\.{0,2}\//.test(specifier) && pathOf(new URL(specifier, context.parentURL).href);
      for (const path of missing ? placesOf(missing) : []) paths.add(path);
      throw error;
    }
  },
});

fs.readFileSync = ((path: unknown, ...options: []) => {
  const read = path instanceof URL ? pathOf(path.href) : path;
  if (typeof read === "string" && !isOutput(relative(root, read))) paths.add(resolve(read));
  return readFileSync(path as string, ...options);
}) as typeof readFileSync;
modules.syncBuiltinESMExports();

process.on("exit", () => {
  // An installed `minutehand` lies in a package, whose files are left out.
  const [, main = ""] = process.argv;
  if (fs.existsSync(main) && fs.realpathSync(main) === OWN_PROGRAM) paths.add(OWN_PROGRAM);
  if (file !== undefined && paths.size > 0) fs.appendFileSync(file, `${[...paths].join("\n")}\n`);
});

function pathOf(url: string): string | undefined {
  return url.startsWith("file:") ? fileURLToPath(url) : undefined;
}
