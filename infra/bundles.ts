import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code } from "aws-cdk-lib/aws-lambda";
import { buildFunction, entryOf, type FunctionName } from "./build.ts";

const bundled = new Map<FunctionName, string>();

/**
 * The bundle of a function. The npm package has a folder `functions/<name>` with the bundle. This repository has only the source, and
 * bundles it. All queues of one synth use the same bundles, so a process checks the sources only once.
 */
export function bundleOf(name: FunctionName): Code {
  const folder = bundled.get(name) ?? folderOf(name);
  bundled.set(name, folder);
  return Code.fromAsset(folder);
}

function folderOf(name: FunctionName): string {
  const ready = join(import.meta.dirname, "..", "functions", name);
  return existsSync(ready) ? ready : buildFunction(entryOf(name));
}
