import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildFunction, entryOf, type FunctionName } from "./build.ts";

/**
 * The folder with a function's bundle. The package holds no sources but, in their place, what was bundled from them: what
 * lies there decides, so that both go the same way from here on.
 */
export function bundleOf(name: FunctionName): string {
  const ready = join(import.meta.dirname, "..", "functions", name);
  return existsSync(ready) ? ready : buildFunction(entryOf(name));
}
