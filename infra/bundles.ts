import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code } from "aws-cdk-lib/aws-lambda";
import { buildFunction, entryOf, type FunctionName } from "./build.ts";

/**
 * A function's bundle. The package holds no sources but, in their place, what was bundled from them: what lies there
 * decides, so that both go the same way from here on.
 */
export function bundleOf(name: FunctionName): Code {
  const ready = join(import.meta.dirname, "..", "functions", name);
  return Code.fromAsset(existsSync(ready) ? ready : buildFunction(entryOf(name)));
}
