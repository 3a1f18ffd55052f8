import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code } from "aws-cdk-lib/aws-lambda";
import { buildFunction, entryOf, type FunctionName } from "./build.ts";

const bundled = new Map<FunctionName, string>();

/**
 * A function's bundle. The package holds no sources but, in their place, what was bundled from them: what lies there
 * decides, so that both go the same way from here on. All queues of one synth have the same bundles: their sources are
 * looked at once in a process.
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
