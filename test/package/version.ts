import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../deploy/environment.ts";

/** A package in the version of this repository, as `npm install` takes it: `esbuild@0.28.2`. */
export function versionOf(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return `${name}@${devDependencies[name]}`;
}
