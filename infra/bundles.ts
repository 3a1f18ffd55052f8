import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code } from "aws-cdk-lib/aws-lambda";
import { buildFunction, entryOf, type FunctionName } from "./bundling/build.ts";

const bundled = new Map<FunctionName, string>();

/** From the package's folder `functions/<name>`, or from the source here. All queues of one synth use it, so sources are checked once. */
export function bundleOf(name: FunctionName): Code {
  const folder = bundled.get(name) ?? folderOf(name);
  bundled.set(name, folder);
  return Code.fromAsset(folder);
}

function folderOf(name: FunctionName): string {
  // The package's CommonJS has this code in `dist/npm/commonjs/`, so this file must lie one folder deep too.
  const ready = join(import.meta.dirname, "..", "functions", name);
  return existsSync(ready) ? ready : buildFunction(entryOf(name));
}
